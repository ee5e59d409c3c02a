"""No secret leaves a stream in any form, however the stream is split; everything else passes unchanged."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import subprocess
import sys
import tracemalloc
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from dataflow.model.wording import quoted, shortened
from dataflow.secrets import redaction
from dataflow.secrets.redaction import Redactor

# Few letters make overlaps likely; the rest is what encoders treat specially. No star: masks have them.
LETTERS = st.sampled_from("ab")
SPECIAL = st.sampled_from("abXYZ019 '\"\\/+%&=<>?~-_.:@!$#\tüß€𝛑\x7f\x1f")
SECRETS = st.text(SPECIAL, min_size=8, max_size=24)
PLAIN = st.text(st.sampled_from("klm ,;\n"), max_size=12).map(str.encode)


def fed(redactor: Redactor, pieces: list[bytes]) -> bytes:
    stream = redactor.new_stream()
    return b"".join([stream.feed(piece) for piece in pieces] + [stream.flush()])


def cut(text: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


def lower_hex(quoted: str) -> str:
    return re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), quoted)


def written(secret: str) -> dict[str, str]:
    """The secret as common tools write it."""
    raw = secret.encode()
    in_json = json.dumps(secret)[1:-1]
    in_json_utf_8 = json.dumps(secret, ensure_ascii=False)[1:-1]
    return {
        "literal": secret,
        "base64": base64.b64encode(raw).decode(),
        "base64 without padding": base64.b64encode(raw).decode().rstrip("="),
        "base64 urlsafe": base64.urlsafe_b64encode(raw).decode(),
        "base64 urlsafe without padding": base64.urlsafe_b64encode(raw).decode().rstrip("="),
        "bytes": repr(raw)[2:-1],
        "bytes in JSON": json.dumps(repr(raw)[2:-1])[1:-1],
        "quote": quote(secret),
        "quote all": quote(secret, safe=""),
        "quote lower": lower_hex(quote(secret, safe="")),
        "quote_plus": quote_plus(secret),
        "quote_plus lower": lower_hex(quote_plus(secret)),
        "json": in_json,
        "json with escaped slashes": in_json.replace("/", "\\/"),
        "json in utf-8": in_json_utf_8,
        "json in utf-8 with escaped slashes": in_json_utf_8.replace("/", "\\/"),
        "json in json": json.dumps(in_json)[1:-1],
        "repr": repr(secret)[1:-1],
        "repr of a text with both quotes": repr(secret + "'\"")[1:-4],
        "ascii": ascii(secret)[1:-1],
        "html": html.escape(secret),
        "html without quotes": html.escape(secret, quote=False),
        "xml attribute": escape(secret, {'"': "&quot;"}),
        "shell": secret.replace("'", "'\\''"),
        "shlex": secret.replace("'", "'\"'\"'"),
    }


def masked_by_hand(text: bytes, forms: set[bytes]) -> bytes:
    """The slow and obvious way: every occurrence of every form; overlapping ones become one mask."""
    spans = sorted(
        (found.start(), found.start() + len(form))
        for form in forms
        for found in re.finditer(b"(?=" + re.escape(form) + b")", text)
    )
    output, at = b"", 0
    for start, end in spans:
        if start >= at:
            output += text[at:start] + b"***"
        at = max(at, end)
    return output + text[at:]


@given(SECRETS, PLAIN, PLAIN, st.lists(st.integers(0, 10**6), max_size=8))
@example("p@ss'w\"o/r\\d é", b"", b"", [3, 4, 5])
def test_every_form_is_masked_and_its_surroundings_stay_wherever_the_text_is_cut(
    secret: str, before: bytes, after: bytes, places: list[int]
) -> None:
    redactor = Redactor([secret])
    for form in written(secret).values():
        text = before + form.encode() + after
        assert fed(redactor, cut(text, places)) == before + b"***" + after


@given(SECRETS, PLAIN, PLAIN)
def test_byte_by_byte_gives_the_same_as_in_one_piece(secret: str, before: bytes, after: bytes) -> None:
    redactor = Redactor([secret])
    text = before + after.join(form.encode() for form in written(secret).values()) + after
    assert fed(redactor, [bytes([byte]) for byte in text]) == redactor.redact(text)


@given(
    st.lists(st.text(LETTERS, min_size=8, max_size=12), min_size=1, max_size=3),
    st.text(LETTERS, max_size=80),
    st.lists(st.integers(0, 10**6), max_size=20),
)
@example(["abababab", "babababb"], "aabababababbabababababb", [])
def test_overlapping_occurrences_leave_nothing_behind_wherever_the_text_is_cut(
    secrets: list[str], text: str, places: list[int]
) -> None:
    redactor = Redactor(secrets)
    expected = masked_by_hand(text.encode(), {secret.encode() for secret in secrets})
    assert redactor.redact(text.encode()) == expected
    assert fed(redactor, cut(text.encode(), places)) == expected
    assert not any(secret.encode() in expected for secret in secrets)


@given(st.lists(SECRETS, max_size=3), st.binary(max_size=200), st.lists(st.integers(0, 10**6), max_size=20))
def test_bytes_without_a_secret_pass_unchanged_even_if_they_are_not_text(
    secrets: list[str], text: bytes, places: list[int]
) -> None:
    assume(not any(secret.encode()[:4] in text for secret in secrets))
    assert fed(Redactor(secrets), cut(text, places)) == text


@given(SECRETS, st.binary(max_size=7), st.binary(max_size=7), st.booleans())
def test_a_secret_inside_a_longer_base64_text_cannot_be_decoded_from_what_is_left(
    secret: str, before: bytes, after: bytes, urlsafe: bool
) -> None:
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    text = encode(before + secret.encode() + after)
    left = Redactor([secret]).redact(text)
    assert b"***" in left
    known = len(secret.encode()) * 8 // 6 - 1
    assert len(left) - len(b"***") <= len(text) - known
    head, _, tail = left.partition(b"***")
    assert text.startswith(head)
    assert text.endswith(tail)


def test_credentials_of_http_basic_authentication_are_masked_to_the_end() -> None:
    for user in ("b", "bo", "bob"):
        text = b"Authorization: Basic " + base64.b64encode(f"{user}:hunter2hunter2".encode())
        assert Redactor(["hunter2hunter2"]).redact(text).endswith(b"***")


def test_base64_wrapped_by_the_usual_tools_is_masked() -> None:
    secret = "".join(chr(33 + i % 60) for i in range(150))
    in_pem = re.sub(b"(.{64})", rb"\1\n", base64.b64encode(secret.encode()))
    for wrapped in (base64.encodebytes(secret.encode()), in_pem):
        assert Redactor([secret]).redact(b"key: " + wrapped).strip() == b"key: ***"


def test_json_as_go_and_gson_and_jackson_write_it_is_masked() -> None:
    redactor = Redactor(["a<b>&='é-long"])
    for form in (
        r"a\u003cb\u003e\u0026='é-long",
        r"a\u003cb\u003e\u0026\u003d\u0027é-long",
        r"a<b>&='\u00E9-long",
    ):
        assert redactor.redact_text(f'{{"p": "{form}"}}') == '{"p": "***"}'


def test_a_url_as_javascript_and_java_write_it_is_masked() -> None:
    redactor = Redactor(["it's (a~b)* & c"])
    for form in ("it's%20(a~b)*%20%26%20c", "it's%20(a~b)*%20&%20c", "it%27s+%28a%7Eb%29*+%26+c"):
        assert redactor.redact_text(f"?p={form}#") == "?p=***#"


def test_what_other_templates_and_quoters_write_is_masked() -> None:
    secret = 'it\'s "é"/a:b@c-secret'
    redactor = Redactor([secret])
    marked = html.escape(secret, quote=False).replace('"', "&quot;")
    forms = [marked.replace("'", mark) for mark in ("&apos;", "&#039;", "&#39;")]
    forms += [form.replace("é", "&#233;") for form in forms]
    forms += [quote(secret, safe=safe) for safe in ("@", ":/@")]
    assert [redactor.redact_text(f"<{form}>") for form in forms] == ["<***>"] * len(forms)


@pytest.mark.parametrize("ascii_only", [True, False])
def test_base64_of_json_with_an_escaped_secret_is_masked(ascii_only: bool) -> None:
    secret = 'it\'s "é"/a:b@c-secret'
    text = json.dumps({"user": "me", "password": secret, "a": 1}, ensure_ascii=ascii_only)
    shown = Redactor([secret]).redact(base64.b64encode(text.encode()))
    assert b"***" in shown
    assert len(shown) < len(text) * 4 / 3 - len(secret)


def test_what_a_shell_traces_is_masked() -> None:
    secret = "it's a 'secret'"
    command = ["sh", "-xc", 'true "$1"', "sh", secret]
    traced = subprocess.run(command, capture_output=True, check=True).stderr
    assert b"secret" in traced
    assert b"secret" not in Redactor([secret]).redact(traced)
    assert Redactor([secret]).redact_text(shlex.quote(secret)) == "'***'"


@pytest.mark.parametrize("printed", ["export -p", "declare -p SECRET", 'printf %q "$SECRET"'])
def test_what_bash_quotes_is_masked(printed: str) -> None:
    secret = "pass$word`with\"all' kinds\\of, (quotes)!*?[x];&|"
    environment = {"SECRET": secret, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", printed], env=environment, capture_output=True, check=True)
    assert b"word" in done.stdout
    assert b"word" not in Redactor([secret]).redact(done.stdout)


def test_what_csv_and_escaped_sql_quote_is_masked() -> None:
    secret = 'pass\'word\\with "quotes"'
    for written in ("pass''word\\\\with \"quotes\"", 'pass\'word\\with ""quotes""'):
        assert b"word" not in Redactor([secret]).redact(written.encode())


def test_what_sql_quotes_is_masked() -> None:
    shown = Redactor(["it's-hunter2"]).redact_text("alter role etl password 'it''s-hunter2'")
    assert shown == "alter role etl password '***'"


def test_each_long_line_of_a_secret_of_several_lines_is_masked_alone() -> None:
    secret = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nshort\n-----END KEY-----\n"
    redactor = Redactor([secret])
    assert redactor.redact(secret.encode()) == b"***\n"
    assert redactor.redact(b"> MIIEvQIBADANBgkq\r\nshort\r\n") == b"> ***\r\nshort\r\n"
    assert redactor.redact_text(json.dumps({"key": secret})) == '{"key": "***"}'
    assert b"MIIEvQIBADANBgkq" not in redactor.redact(secret.replace("\n", "\r\n").encode())


def test_a_line_of_a_secret_is_masked_in_every_form() -> None:
    line = "it's <é> & %/\\"
    redactor = Redactor([f"first line\n{line}\nlast line"])
    for form in written(line).values():
        assert redactor.redact_text(f"[{form}]") == "[***]"


def test_output_is_held_back_only_while_it_may_still_become_a_secret() -> None:
    stream = Redactor(["hunter2hunter2"])
    assert stream.feed(b"Name? ") == b"Name? "
    assert stream.feed(b"say hunter2") == b"say "
    assert stream.feed(b" again") == b"hunter2 again"
    assert stream.feed(b"hunter2hun") == b""
    assert stream.feed(b"ter2") == b"***"
    assert stream.flush() == b""


def test_an_unfinished_secret_at_the_end_comes_out_on_flush_and_only_once() -> None:
    stream = Redactor(["hunter2hunter2"])
    assert stream.feed(b"hunter2") == b""
    assert stream.flush() == b"hunter2"
    assert stream.flush() == b""


def test_streams_share_the_secrets_but_not_what_they_hold_back() -> None:
    first = Redactor(["hunter2hunter2"])
    second = first.new_stream()
    assert first.feed(b"hunter2") + second.feed(b"hunter2") == b""
    assert first.redact(b"hunter2") == b"hunter2"
    assert first.feed(b"hunter2") + first.flush() == b"***"
    assert second.flush() == b"hunter2"


def test_a_secret_inside_a_longer_one_does_not_give_away_how_the_longer_one_begins() -> None:
    stream = Redactor(["outer-inner-secret-outer", "inner-secret"])
    assert stream.feed(b"<outer-inner-secret") == b"<"
    assert stream.feed(b"-outer>") == b"***>"
    assert stream.feed(b"<outer-inner-secret") + stream.flush() == b"<outer-***"


def test_two_secrets_side_by_side_become_two_masks() -> None:
    assert Redactor(["hunter2-tiger3"]).redact(b"hunter2-tiger3" * 2) == b"******"


def test_a_secret_too_short_to_be_accepted_today_is_still_masked() -> None:
    assert Redactor(["", "bob"]).redact_text("password bob") == "password ***"


@pytest.mark.parametrize("secret", ["bob", "x" * 58, "first line\nbob"])
def test_forms_too_short_to_be_distinctive_are_left_alone(secret: str) -> None:
    # Base64 of bob; of the end of the second, wrapped; and the last line of the third, in base64.
    text = "if Ym9i == 'eA==' or 'Ym9i': eHg="
    assert Redactor([secret]).redact_text(text) == text


def test_a_secret_that_is_not_utf_8_is_masked() -> None:
    raw = b"caf\xe9-\xff\xfe-secret"
    redactor = Redactor([raw.decode("utf-8", "surrogateescape")])
    assert redactor.redact(b"<" + raw + b">") == b"<***>"
    assert redactor.redact(base64.b64encode(raw)) == b"***"
    assert redactor.redact_text("<" + raw.decode("utf-8", "surrogateescape") + ">") == "<***>"


def test_a_message_with_half_a_surrogate_pair_is_not_lost() -> None:
    assert Redactor(["hunter2hunter2"]).redact_text("\ud800 hunter2hunter2") == "\\ud800 ***"


def test_without_secrets_the_same_object_is_returned() -> None:
    data = bytes(1000)
    assert Redactor([]).feed(data) is data
    assert Redactor([]).redact(data) is data
    assert Redactor([]).flush() == b""


@pytest.mark.parametrize("piece", [b"x" * 65536, b"hunter2" * 9362])
def test_memory_stays_small_on_endless_output_without_a_newline(piece: bytes) -> None:
    stream = Redactor(["hunter2hunter2X"])
    stream.feed(piece)
    tracemalloc.start()
    for _ in range(100):
        assert len(stream.feed(piece)) == len(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * len(piece)


@pytest.mark.parametrize(
    "secret", ["aaaaaaaa", "abababab", "a" * 40, "aaaaaaab", "hunter2-hunter2", "a" * 4000]
)
@pytest.mark.parametrize("part", [slice(0, None), slice(0, 1), slice(0, -1)])
def test_output_full_of_a_weak_secret_takes_few_steps_per_length_of_the_secret(
    secret: str, part: slice
) -> None:
    redactor, size = Redactor([secret]), 1 << 17
    data = (secret[part].encode() * size)[:size]
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "c_call"

    sys.setprofile(count)
    try:
        redactor.redact(data)
    finally:
        sys.setprofile(None)
    # Not one per byte; the constant is for the search of all forms in a text that has none of them.
    assert calls <= 10 * size / len(secret) + 2000


def test_the_beginning_of_a_secret_is_not_held_back_over_any_number_of_line_ends() -> None:
    stream = Redactor(["hunter2hunter2"])
    assert stream.feed(b"hunter2") == b""
    assert stream.feed(b"\n" * 1_000_000).startswith(b"hunter2")
    stream.flush()
    assert stream.feed(b"hunter2" + b"\r\n" * 20) == b""
    assert stream.feed(b"hunter2") == b"***"


def test_the_beginning_of_a_truncated_secret_is_hidden_too() -> None:
    redactor = Redactor(["hunter2-hunter2", 'pass"word\\123'])
    for shown in (shortened("a key: hunter2-hunter2", 15), quoted("x" * 50 + "hunter2-hunter2")):
        assert "hun" in shown
        assert "hun" not in redactor.redact_text(f"It has {shown}.")
    text = quoted("x" * 52 + 'pass"word\\123')
    assert redactor.redact_text(text) == f'"{"x" * 52}***"… (65 characters)'
    assert redactor.redact_text("the hunt… goes on, hunter too") == "the ***… goes on, hunter too"
    assert redactor.redact_text("hu… and others") == "hu… and others"


def test_encoders_are_not_imported_until_there_is_something_to_hide() -> None:
    code = (
        "import sys, dataflow.secrets.cipher; from dataflow.secrets.redaction import Redactor; Redactor([]);"
        "print(sorted({'urllib.parse', 'base64', 'json', 'typing', 'cryptography'} & set(sys.modules)))"
    )
    environment = {"PYTHONPATH": str(Path(redaction.__file__).parents[2])}
    command = [sys.executable, "-S", "-c", code]
    answer = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@given(SECRETS, st.integers(0, 80), st.integers(20, 80), st.lists(st.integers(0, 300), max_size=4))
def test_base64_of_a_longer_text_is_hidden_wherever_its_lines_end(
    line_end: bytes, secret: str, before: int, width: int, places: list[int]
) -> None:
    text = base64.b64encode(b"x" * before + secret.encode() + b"y" * 9)
    lines = line_end.join(text[at : at + width] for at in range(0, len(text), width)) + line_end
    shown = fed(Redactor([secret]), cut(lines, places)).translate(None, b"\r\n")
    first, last = (before * 8 + 5) // 6, (before + len(secret.encode())) * 8 // 6
    assert shown == text[:first] + b"***" + text[last:]


def test_a_short_secret_is_not_searched_for_across_lines() -> None:
    assert Redactor(["1234", "123"]).redact(b"1\n2\n3\n4\n123\n4") == b"1\n2\n3\n4\n***\n4"
