"""Text functions, and parsing and formatting of values, compared with PostgreSQL."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import pytest

from dataflow.pipelines.pg_functions import (
    float_text,
    integers,
    like,
    quoting,
    strings,
    value_text,
)
from dataflow.pipelines.pg_functions.floats import nearest_real
from dataflow.pipelines.pg_functions.signatures import Calls, Signature, list_overloads
from tests.pipelines.pg_functions.drawn_calls import Draw, find_differences, to_sql
from tests.pipelines.pg_functions.reference import Reference

CASES = 60
SPECIAL_SYNTAX = {"similar_to", "is_normalized", "normalize", "convert_to utf8", "convert_from utf8"}
MODULES = (strings, quoting, float_text, value_text, like)
SIGNATURES = [
    one for module in MODULES for one in list_overloads(module.SIGNATURES) if one.name not in SPECIAL_SYNTAX
]
SIGNATURES += [one for one in list_overloads(integers.SIGNATURES) if "text" in (*one.takes, one.gives)]


def name_call(signature: object) -> str:
    assert isinstance(signature, Signature)
    return f"{signature.name}({','.join(signature.takes)}) {signature.gives}"


def pieces(*parts: str, most: int = 4) -> Draw:
    """Strings built from these parts."""
    return lambda chosen: "".join(chosen.choices(parts, k=chosen.randint(0, most)))


@pytest.mark.parametrize("signature", SIGNATURES, ids=name_call)
def test_a_text_function_matches_postgresql(signature: Signature, reference: Reference) -> None:
    assert find_differences(reference, [signature], CASES) == []


LIKE_PATTERNS = pieces(*"aabB%%__\\\\é😀\n", most=6)
SIMILAR_PATTERNS = pieces(
    *("a", "b", "%", "_", "(", ")", "|", "[a]", "[^b]", "*", "{2}", "\\", '"', "#", '#"', "é", ".", "^", "]"),
    most=6,
)
INTEGERS = pieces(
    *("0", "9", "12", "2147483647", "2147483648", "21474836", "32767", "32768", "9223372036854775807"),
    *("9223372036854775808", "-", "+", " ", "_", "0x", "0b", "0o", "ff", "e", ".", "\t"),
)
FLOATS = pieces(
    *(
        "0",
        "1",
        "9.5",
        ".",
        "e",
        "-",
        "+",
        "inf",
        "Infinity",
        "nan",
        "NaN",
        "nan(1)",
        "e400",
        "e-400",
        "e38",
        "e-46",
    ),
    *(
        "3.4028235",
        "3.40282357",
        "e-45",
        "7",
        "1.4",
        " ",
        "0x",
        "p3",
        "_",
        "123456789",
        "e308",
        "1.79769313486231570",
    ),
)
BOOLEANS = pieces(
    "t", "T", "r", "u", "e", "true", "f", "a", "false", "y", "es", "n", "o", "of", "off", "on", "1", "0", " "
)
BYTES = pieces("\\x", "00", "1", "ff", "G", "\\", "\\\\", "\\000", "\\377", "\\400", "a", "é", " ", "\n")
TEMPLATES = pieces(
    *(
        "%s",
        "%I",
        "%L",
        "%%",
        "%",
        "%1$s",
        "%2$L",
        "%0$s",
        "%-5s",
        "%5s",
        "%*s",
        "%*1$s",
        "%2$*1$s",
        "%-*s",
        "abc",
    ),
    *("%99999999999s", "%x", "%1$", "$", "%10I", "5", "-5", "select", "it's", "\\", "A b"),
    most=3,
)
ESCAPES = pieces(
    *(
        "\\",
        "\\\\",
        "u",
        "\\0041",
        "\\u00e9",
        "\\+01F600",
        "\\U0001F600",
        "\\D83D",
        "\\DE00",
        "\\+110000",
        "\\0000",
        "a",
    )
)
CODES = (-1, 0, 1, 65, 233, 0xD800, 0xDFFF, 0x10FFFF, 0x110000, 2**31 - 1, 0x1F600)


def draw_uuid_text(chosen: random.Random) -> str:
    digits = f"{chosen.getrandbits(128):032x}"
    text = (
        "".join(digits[place : place + 4] + chosen.choice(("-", "", "")) for place in range(0, 28, 4))
        + digits[28:]
    )
    text = chosen.choice((text, text.upper(), "{" + text + "}"))
    if chosen.random() < 0.3:
        place = chosen.randint(0, len(text))
        text = text[:place] + chosen.choice(("-", "g", " ", "", "}")) + text[place + chosen.randint(0, 1) :]
    return text


def pick(calls: Calls, test: Callable[[Signature], bool]) -> list[Signature]:
    return [one for one in list_overloads(calls) if one.name not in SPECIAL_SYNTAX and test(one)]


def is_input(signature: Signature) -> bool:
    return signature.takes == ("text",) and signature.name == "cast"


TELLING: tuple[tuple[str, list[Signature], dict[str, Draw]], ...] = (
    ("patterns of LIKE", pick(like.SIGNATURES, lambda one: True), {"text": LIKE_PATTERNS}),
    (
        "patterns that end in an escape",
        pick(like.SIGNATURES, lambda one: one.name == "~~"),
        {"text": lambda chosen: "".join(chosen.choices("aab%_", k=chosen.randint(0, 4))) + "\\"},
    ),
    (
        "patterns of SIMILAR TO",
        pick(like.SIGNATURES, lambda one: one.name != "~~*"),
        {"text": SIMILAR_PATTERNS},
    ),
    ("integers", pick(integers.SIGNATURES, is_input), {"text": INTEGERS}),
    ("floats", pick(float_text.SIGNATURES, is_input), {"text": FLOATS}),
    (
        "booleans",
        pick(value_text.SIGNATURES, lambda one: is_input(one) and one.gives == "boolean"),
        {"text": BOOLEANS},
    ),
    (
        "uuids",
        pick(value_text.SIGNATURES, lambda one: one.gives == "uuid"),
        {"text": draw_uuid_text},
    ),
    ("bytes", pick(value_text.SIGNATURES, lambda one: one.gives == "bytea"), {"text": BYTES}),
    (
        "templates",
        pick(quoting.SIGNATURES, lambda one: one.name == "format"),
        {"text": TEMPLATES},
    ),
    (
        "escapes",
        pick(value_text.SIGNATURES, lambda one: one.name == "unistr"),
        {"text": ESCAPES},
    ),
    (
        "codes",
        pick(strings.SIGNATURES, lambda one: one.name == "chr"),
        {"integer": lambda chosen: chosen.choice(CODES)},
    ),
    (
        "short texts",
        pick(strings.SIGNATURES, lambda one: "text" in one.takes),
        {"text": pieces(*"aab ,é😀", most=8)},
    ),
)


@pytest.mark.parametrize(
    ("signatures", "draws"), [one[1:] for one in TELLING], ids=[one[0] for one in TELLING]
)
def test_edge_case_arguments_match_postgresql(
    signatures: list[Signature], draws: dict[str, Draw], reference: Reference
) -> None:
    assert signatures
    assert find_differences(reference, signatures, 1 + 400 // len(signatures), draws) == []


def attempt(call: Callable[[], str]) -> str:
    try:
        return call()
    except ValueError as refused:
        return f"error: {refused}"


def decode(text: str, form: str) -> str:
    return value_text.bytea_out(value_text.decode(text, form))


@pytest.mark.parametrize("form", ["hex", "base64", "escape", "Hex", "x"])
def test_bytes_are_encoded_and_decoded_as_in_postgresql(form: str, reference: Reference) -> None:
    chosen = random.Random(5)
    parts = ("QQ==", "QUI=", "QUJD", "A", "=", "+", "/", " ", "\n", "-", "00", "f", "\\000", "\\\\", "é", "z")
    texts = ["".join(chosen.choices(parts, k=chosen.randint(0, 4))) for _ in range(200)]
    data = [bytes(chosen.choices(range(256), k=chosen.randint(0, 180))) for _ in range(200)]
    decoded = reference.ask([f"decode({to_sql(text, 'text')}, '{form}')" for text in texts])
    encoded = reference.ask([f"encode({to_sql(one, 'bytea')}, '{form}')" for one in data])
    assert [attempt(partial(decode, text, form)) for text in texts] == decoded
    assert [attempt(partial(value_text.encode, one, form)) for one in data] == encoded


def test_doubles_are_formatted_with_the_same_digits_as_in_postgresql(reference: Reference) -> None:
    chosen = random.Random(3)
    numbers = [struct.unpack("d", struct.pack("Q", chosen.getrandbits(64)))[0] for _ in range(300)]
    numbers += [float(chosen.getrandbits(chosen.randint(50, 80))) for _ in range(300)]
    numbers += [2.0 ** chosen.randint(-1074, 1023) for _ in range(100)]
    numbers = [number for number in numbers if abs(number) < float("inf")]
    assert [float_text.double_out(number) for number in numbers] == reference.ask(
        [f"'{number!r}'::float8" for number in numbers]
    )


def test_reals_are_parsed_and_formatted_with_the_same_digits_as_in_postgresql(reference: Reference) -> None:
    chosen = random.Random(4)
    numbers = [struct.unpack("f", struct.pack("I", chosen.getrandbits(31)))[0] for _ in range(400)]
    numbers += [nearest_real(float(chosen.getrandbits(chosen.randint(20, 60)))) for _ in range(300)]
    texts = [repr(number) for number in numbers if number < 3e38]
    # The midpoint of two values, where rounding twice would show.
    middles = [
        (Fraction(number) + Fraction(float_text.step(number, 1))) / 2
        for number in numbers
        if 1 < number < 1e9
    ]
    texts += [f"{float(middle)!r}" for middle in middles] + [f"{float(middle):.20f}1" for middle in middles]
    assert [float_text.real_out(float_text.real_in(text)) for text in texts] == reference.ask(
        [f"'{text}'::text::float4" for text in texts]
    )


def test_similar_to_matches_postgresql(reference: Reference) -> None:
    chosen = random.Random(6)
    drawn = [(SIMILAR_PATTERNS(chosen), SIMILAR_PATTERNS(chosen), chosen.choice("#é\\")) for _ in range(300)]
    calls = [" {} similar to {} escape {}".format(*(to_sql(one, "text") for one in three)) for three in drawn]
    found = [attempt(lambda three=three: str(like.similar_to(*three)).lower()) for three in drawn]  # type: ignore[misc]
    assert found == reference.ask(calls)


def test_every_sql_keyword_is_quoted_as_in_postgresql(reference: Reference) -> None:
    words = [
        word for (word,) in reference.connection.execute("select word from pg_get_keywords()").fetchall()
    ]
    assert [quoting.quote_ident(word) for word in words] == reference.ask(
        [f"quote_ident('{word}')" for word in words]
    )


def test_unicode_normal_forms_match_postgresql(reference: Reference) -> None:
    texts = ["é", "e\u0301", "ﬁ", "Å", "한", "a\u0323\u0307", ""]
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        normal = reference.ask([f"normalize('{text}', {form})" for text in texts])
        assert [strings.normalize(text, form) for text in texts] == normal
        asked = reference.ask([f"'{text}' is {form} normalized" for text in texts])
        assert [str(strings.is_normalized(text, form)).lower() for text in texts] == asked
