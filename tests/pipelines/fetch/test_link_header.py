"""Pages that name the next one in a Link header, as in the standard (RFC 8288)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dataflow.pipelines.fetch.authentication import Credentials
from dataflow.pipelines.fetch.http_source import HttpSource
from dataflow.pipelines.fetch.pagination import LinkHeader, list_targets
from dataflow.pipelines.handover.records import Part
from tests.pipelines.answer_server import AnswerServer, Asked, Reply
from tests.pipelines.fetch.fetching import QUICK, fetch, make_rows, open_staging, refuse

TOKEN = Credentials("bearer", secret="our-token")


def source_for(server: AnswerServer, **fields: object) -> HttpSource:
    return HttpSource(f"{server.origin}/rows", LinkHeader(), TOKEN, QUICK, **fields)  # type: ignore[arg-type]


def serve_links(link: str) -> AnswerServer:
    """30 rows, 10 per page; `{n}` in the link is the number of the next page, `{origin}` the server's."""

    def answer(asked: Asked) -> Reply:
        page = int(asked.query.get("page", 1))
        rows = make_rows(30)[(page - 1) * 10 : page * 10]
        told = link.replace("{n}", str(page + 1)).replace("{origin}", server.origin)
        lines = (
            [("Link", line) for line in told.split("\n")] if page < 3 else [("Link", '</rows>; rel="first"')]
        )
        return Reply(rows, headers=lines)

    server = AnswerServer(answer)
    return server


def ids_of(parts: list[Part]) -> list[int]:
    return [row["id"] for part in parts for row in json.loads(Path(part.path).read_bytes())]


@pytest.mark.parametrize(
    "link",
    [
        '<{origin}/rows?page={n}>; rel="next"',
        '</rows?page={n}>; rel="next"',
        "<?page={n}>;rel=next",
        '</rows?page=1>; rel="first", </rows?page={n}>; title="a, b; <c>"; rel="last Next"',
        '</rows?page=1>; rel="first"\n</rows?page={n}>; rel="next"',
        '</x>; rel="prev"; rel="next" , , </rows?page={n}> ; REL = "next";',
        '</x>; rel="next"; anchor="/other", </rows?page={n}>; rel="next"',
        "</rows?page={n}>; rel*=UTF-8''x; rel=\"\\next\"; crossorigin",
    ],
)
def test_the_next_page_is_where_the_link_header_says(tmp_path: Path, link: str) -> None:
    with serve_links(link) as server:
        assert ids_of(fetch(source_for(server), tmp_path)) == list(range(30))
        assert [asked.headers["Authorization"] for asked in server.asked] == ["Bearer our-token"] * 3


def test_a_source_with_one_page_may_omit_the_header(tmp_path: Path) -> None:
    with AnswerServer(lambda asked: Reply(make_rows(3))) as server:
        assert ids_of(fetch(source_for(server), tmp_path)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ('</rows?page=2; rel="next"', "The Link header of .* is malformed, so the next page is unknown"),
        ('/rows?page=2; rel="next"', "is malformed"),
        ('</rows?page=2>; rel="next', "is malformed"),
        ('</a>; rel="next", </b>; rel="next"', "names 2 different next pages"),
        ('<ftp://127.0.0.1/rows>; rel="next"', "is not an http or https URL"),
        ('<http://me:secret@127.0.0.1/rows>; rel="next"', "contains a user or password"),
        ('</rows>; rel="next"', "links back to .*, which was already fetched"),
    ],
)
def test_a_link_that_leads_nowhere_stops_the_fetch(tmp_path: Path, link: str, reason: str) -> None:
    with serve_links(link) as server:
        assert "secret" not in refuse(source_for(server), tmp_path, reason)
        assert len(server.asked) == 1


def test_a_link_to_another_origin_is_followed_only_where_allowed_and_without_the_token(
    tmp_path: Path,
) -> None:
    with AnswerServer(lambda asked: Reply(make_rows(3))) as other:
        with serve_links(f'<{other.origin}/rows>; rel="next"') as server:
            refuse(
                source_for(server),
                tmp_path,
                f"The next link of .* leads to {other.origin}, not to the source's own",
            )
            assert other.asked == []
            allowed = source_for(server, allowed_origins=(other.origin,))
            assert ids_of(fetch(allowed, tmp_path, 2)) == [*range(10), 0, 1, 2]
        assert all("Authorization" not in asked.headers for asked in other.asked)


def test_a_run_resumes_from_the_link_of_the_last_page(tmp_path: Path) -> None:
    with serve_links('</rows?page={n}>; rel="next"') as server:
        source = source_for(server)
        next(iter(source.fetch(open_staging(source, tmp_path))))
        staging = open_staging(source, tmp_path, 2)
        assert staging.continue_from({str(tmp_path / "1"): True}) == 1
        assert ids_of(list(source.fetch(staging))) == list(range(30))


names = some.text("abcXYZ-", min_size=1, max_size=5)
values = some.text(' abc,;<>="', max_size=8).map(lambda text: '"' + text.replace('"', '\\"') + '"')


@given(
    some.lists(some.tuples(some.text("/?=&,;abc", max_size=8), some.dictionaries(names, values)), max_size=4)
)
def test_any_standard_header_is_parsed_completely(links: list[tuple[str, dict[str, str]]]) -> None:
    parts = [
        f"<{target}>" + "".join(f"; {name}={value}" for name, value in fields.items()) + '; rel="next"'
        for target, fields in links
    ]
    assert [target for target, _ in list_targets(" ,".join(parts), "next")] == [target for target, _ in links]


@given(some.text('<>;,="\\ relnxta', max_size=30))
def test_malformed_headers_raise_only_value_errors(header: str) -> None:
    try:
        list_targets(header, "next")
    except ValueError:
        pass
