"""The end of pages, and their completeness: row counts, page counts, 404s, repeated pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dataflow.errors import FetchError
from dataflow.model.record import replace
from dataflow.pipelines.fetch.http_source import HttpSource
from dataflow.pipelines.fetch.pagination import Cursor, LinkHeader, NextLink, Offset, PageNumber, Pagination
from tests.pipelines.answer_server import AnswerServer, Asked, Reply
from tests.pipelines.fetch.fetching import QUICK, fetch, ids_in, make_rows, open_staging, refuse

Past = Callable[[int], Reply]
"""The response for a page after the last, given the number of pages."""


BY_NUMBER = PageNumber()


class Shop:
    """250 rows by page number or offset, 100 per page, with a configurable response after them."""

    def __init__(self, rows: int = 250, size: int = 100) -> None:
        self.rows = make_rows(rows)
        self.size = size
        self.past = self.empty
        self.gone: set[int] = set()

    def answer(self, asked: Asked) -> Reply:
        index = int(asked.query.get("page", 1)) - 1
        if "offset" in asked.query:
            index = -(-int(asked.query["offset"]) // self.size)
        if index in self.gone:
            return Reply({}, 404)
        return self.page(index) if index < self.pages else self.past(index)

    @property
    def pages(self) -> int:
        return -(-len(self.rows) // self.size)

    def page(self, index: int, shown: int | None = None) -> Reply:
        rows = self.rows[index * self.size : (index + 1) * self.size]
        page = {"page": index if shown is None else shown, "rows": len(self.rows), "pages": self.pages}
        return Reply({**page, "results": rows})

    def empty(self, index: int) -> Reply:
        return self.page(index)

    def refuse(self, index: int) -> Reply:
        return Reply({}, 404)

    def repeat_last(self, index: int) -> Reply:
        """Like many sources: the rows of the last page, under the requested number."""
        return self.page(self.pages - 1, index)

    def begin_again(self, index: int) -> Reply:
        return self.page(0, index)


def source_for(server: AnswerServer, pagination: Pagination = BY_NUMBER, **limits: Any) -> HttpSource:
    return HttpSource(f"{server.origin}/rows", pagination, limits=replace(QUICK, **limits))


SERIES = [BY_NUMBER, Offset(limit=100)]


@pytest.mark.parametrize("count", [1, 99, 100, 101, 200, 250, 1000])
@pytest.mark.parametrize("parallel", [1, 4])
def test_exactly_the_counted_pages_are_fetched(tmp_path: Path, count: int, parallel: int) -> None:
    shop = Shop(count)
    with AnswerServer(shop.answer) as server:
        shop.past = lambda index: Reply({}, 500)
        source = source_for(server, PageNumber(total_pages="pages"), parallel=parallel)
        assert ids_in(fetch(source, tmp_path)) == list(range(count))
        assert sorted(map(int, server.list_pages())) == list(range(1, shop.pages + 1))


def test_page_numbers_may_start_at_a_number_other_than_1(tmp_path: Path) -> None:
    shop = Shop()
    with AnswerServer(lambda asked: shop.page(int(asked.query["page"]) - 7)) as server:
        pagination = PageNumber(first=7, total_pages="pages", total="rows")
        assert ids_in(fetch(source_for(server, pagination), tmp_path)) == list(range(250))


@pytest.mark.parametrize("pages", [0, 1])
def test_a_source_without_rows_may_state_zero_pages_or_one(tmp_path: Path, pages: int) -> None:
    with AnswerServer(lambda asked: Reply({"pages": pages, "results": []})) as server:
        assert ids_in(fetch(source_for(server, PageNumber(total_pages="pages")), tmp_path)) == []


@pytest.mark.parametrize(
    ("size", "pages", "reason"),
    [
        (100, 3, "has 3 rows according to 'pages' .* but 100 arrived so far"),
        (2, 125, "has 125 rows according to 'pages' .* but 126 arrived so far"),
        (5, 50, "has 50 rows according to 'pages' .* but 55 arrived so far"),  # after ten full pages
    ],
)
@pytest.mark.parametrize("parallel", [1, 4])
def test_a_total_that_counts_pages_is_detected(
    tmp_path: Path, size: int, pages: int, reason: str, parallel: int
) -> None:
    shop = Shop(250, size)
    assert shop.pages == pages
    with AnswerServer(shop.answer) as server:
        source = source_for(server, PageNumber(total="pages"), parallel=parallel)
        told = refuse(source, tmp_path, reason)
    assert "set page_number(total_pages='pages')" in told
    staging = open_staging(source, tmp_path)
    assert staging.closed and not staging.complete


def test_a_total_that_counts_pages_is_detected_if_the_first_page_has_as_many_rows(tmp_path: Path) -> None:
    with AnswerServer(Shop(9, 3).answer) as server:  # 3 pages of 3 rows
        refuse(
            source_for(server, PageNumber(total="pages")),
            tmp_path,
            "has 3 rows according to 'pages' .* but 6 arrived so far",
        )


@pytest.mark.parametrize("count", [3, 100, 200])
@pytest.mark.parametrize("past", ["empty", "refuse", "repeat_last", "begin_again", "fail"])
def test_a_correct_total_is_confirmed_by_the_response_after_the_last_page(
    tmp_path: Path, count: int, past: str
) -> None:
    shop = Shop(count)
    shop.past = getattr(shop, past, lambda index: Reply({}, 400))
    with AnswerServer(shop.answer) as server:
        source = source_for(server, PageNumber(total="rows"))
        assert ids_in(fetch(source, tmp_path)) == list(range(count))


def test_a_total_that_a_shorter_page_confirms_costs_no_further_request(tmp_path: Path) -> None:
    with AnswerServer(Shop(250).answer) as server:
        assert ids_in(fetch(source_for(server, PageNumber(total="rows")), tmp_path)) == list(range(250))
        assert sorted(server.list_pages()) == ["1", "2", "3"]


@pytest.mark.parametrize("pagination", [NextLink(total="pages"), Cursor(next="next", total="pages")])
def test_more_rows_than_a_chain_counts_are_detected(tmp_path: Path, pagination: Pagination) -> None:
    document = {"next": None, "pages": 1, "results": make_rows(3)}
    with AnswerServer(lambda asked: Reply(document)) as server:
        refuse(
            source_for(server, pagination),
            tmp_path,
            "has 1 row according to 'pages' .* but 3 arrived so far",
        )


def test_total_pages_that_count_rows_are_detected(tmp_path: Path) -> None:
    with AnswerServer(Shop().answer) as server:
        source = source_for(server, PageNumber(total_pages="rows"))
        refuse(source, tmp_path, r"has no rows, .* 250 pages according to 'rows' and this is page 4\.")


@pytest.mark.parametrize(
    ("past", "reason"), [("refuse", "404 .* own count is"), ("repeat_last", "has fewer rows")]
)
def test_a_missing_counted_page_is_detected(tmp_path: Path, past: str, reason: str) -> None:
    shop = Shop()
    shop.past = getattr(shop, past)
    with AnswerServer(shop.answer) as server:
        refuse(source_for(server, PageNumber(total_pages="rows")), tmp_path, reason)


def test_pages_deleted_during_the_fetch_are_detected(tmp_path: Path) -> None:
    shop = Shop(1000)
    with AnswerServer(shop.answer) as server:
        source = source_for(server, PageNumber(total_pages="pages"), parallel=1)
        parts = source.fetch(open_staging(source, tmp_path))
        next(parts), next(parts)
        shop.rows = shop.rows[100:]
        with pytest.raises(FetchError, match="had 10 pages, but has 9 according to its page"):
            list(parts)


def test_a_page_beyond_the_page_count_is_detected(tmp_path: Path) -> None:
    with AnswerServer(lambda asked: Reply({"pages": 0, "results": make_rows(3)})) as server:
        refuse(
            source_for(server, PageNumber(total_pages="pages")),
            tmp_path,
            "has 0 pages according to 'pages' .* but this is page 1",
        )


@pytest.mark.parametrize("count", [101, 200, 250, 1000])
@pytest.mark.parametrize("past", ["refuse", "repeat_last", "begin_again", "empty"])
@pytest.mark.parametrize("pagination", SERIES, ids=["page number", "offset"])
@pytest.mark.parametrize("parallel", [1, 4])
def test_pages_without_a_count_end_where_the_source_does(
    tmp_path: Path, count: int, past: str, pagination: Pagination, parallel: int
) -> None:
    shop = Shop(count)
    shop.past = getattr(shop, past)
    with AnswerServer(shop.answer) as server:
        source = source_for(server, pagination, parallel=parallel)
        assert ids_in(fetch(source, tmp_path)) == list(range(count))


@pytest.mark.parametrize("pagination", SERIES, ids=["page number", "offset"])
def test_a_404_after_one_page_is_the_end(tmp_path: Path, pagination: Pagination) -> None:
    shop = Shop(7)
    shop.past = shop.refuse
    with AnswerServer(shop.answer) as server:
        assert ids_in(fetch(source_for(server, pagination), tmp_path)) == list(range(7))


def test_a_404_for_the_first_page_is_not_the_end(tmp_path: Path) -> None:
    with AnswerServer(lambda asked: Reply({}, 404)) as server:
        refuse(source_for(server), tmp_path, "404 Not Found: check the source's URL")


@pytest.mark.parametrize("parallel", [1, 4])
def test_a_404_between_pages_is_not_the_end(tmp_path: Path, parallel: int) -> None:
    shop = Shop()
    shop.gone = {1}
    with AnswerServer(shop.answer) as server:
        refuse(source_for(server, parallel=parallel), tmp_path, "The page after it, .*page=3, has rows")


def test_a_source_that_disappears_during_the_fetch_has_not_ended(tmp_path: Path) -> None:
    shop = Shop(1000)
    with AnswerServer(shop.answer) as server:
        source = source_for(server, parallel=1)
        parts = source.fetch(open_staging(source, tmp_path))
        next(parts), next(parts)
        shop.gone = set(range(1000))
        with pytest.raises(FetchError, match="The page before it is not found"):
            list(parts)


def test_a_resumed_run_does_not_mistake_a_vanished_source_for_the_end(tmp_path: Path) -> None:
    shop = Shop(1000)
    with AnswerServer(shop.answer) as server:
        source = source_for(server, parallel=1)
        next(source.fetch(open_staging(source, tmp_path)))
        shop.gone = set(range(1000))
        staging = open_staging(source, tmp_path, 2)
        staging.continue_from({str(tmp_path / "1"): True})
        with pytest.raises(FetchError, match="no longer knows this position"):
            list(source.fetch(staging))
    assert staging.closed


@pytest.mark.parametrize("past", ["refuse", "repeat_last", "begin_again"])
def test_a_resumed_run_finds_the_end_too(tmp_path: Path, past: str) -> None:
    shop = Shop(200)
    shop.past = getattr(shop, past)
    with AnswerServer(shop.answer) as server:
        source = source_for(server, parallel=1)
        parts = source.fetch(open_staging(source, tmp_path))
        next(parts), next(parts)
        staging = open_staging(source, tmp_path, 2)
        staging.continue_from({str(tmp_path / "1"): True})
        assert ids_in(list(source.fetch(staging))) == list(range(200))


@pytest.mark.parametrize("status", [400, 422])
def test_another_refusal_is_explained(tmp_path: Path, status: int) -> None:
    shop = Shop()
    shop.past = lambda index: Reply({}, status)
    with AnswerServer(shop.answer) as server:
        refuse(source_for(server), tmp_path, r"`total` to the key of its row count, or `total_pages` to th")


def test_a_single_page_that_repeats_is_ambiguous(tmp_path: Path) -> None:
    shop = Shop()
    with AnswerServer(lambda asked: shop.page(0, int(asked.query["page"]))) as server:
        told = refuse(source_for(server), tmp_path, "ignores the parameter 'page', or has only this page")
        assert "`total` to the key of its row count, or `total_pages` to" in told


def test_rows_repeated_in_the_middle_are_not_published(tmp_path: Path) -> None:
    shop = Shop(1000)
    shop.rows[200:300] = shop.rows[100:200]
    with AnswerServer(shop.answer) as server:
        refuse(source_for(server), tmp_path, "has the same rows as the previous page")


def test_rows_without_a_key_may_repeat_the_first_page(tmp_path: Path) -> None:
    shop = Shop(5, 1)
    shop.rows = [{"id": number} for number in (0, 1, 0, 1, 0)]
    with AnswerServer(shop.answer) as server:
        assert ids_in(fetch(source_for(server), tmp_path)) == [0, 1, 0, 1, 0]


def test_pages_that_differ_in_one_row_are_different(tmp_path: Path) -> None:
    shop = Shop(30, 10)
    shop.rows = [{"id": 0 if number % 10 != 5 else number} for number in range(30)]
    with AnswerServer(shop.answer) as server:
        assert ids_in(fetch(source_for(server), tmp_path)) == [row["id"] for row in shop.rows]


def test_a_cursor_that_does_not_advance_and_has_no_rows_is_the_end(tmp_path: Path) -> None:
    def answer(asked: Asked) -> Reply:
        at = int(asked.query.get("cursor", 0))
        rows = make_rows(20)[at : at + 10]
        return Reply({"next_cursor": at + len(rows), "results": rows})

    with AnswerServer(answer) as server:
        assert ids_in(fetch(source_for(server, Cursor()), tmp_path)) == list(range(20))


@pytest.mark.parametrize("pagination", [LinkHeader(results="results", total="rows"), NextLink(total="rows")])
def test_fewer_rows_than_counted_stop_a_chain_too(tmp_path: Path, pagination: Pagination) -> None:
    document = {"next": None, "rows": 250, "results": make_rows(100)}
    with AnswerServer(lambda asked: Reply(document)) as server:
        refuse(source_for(server, pagination), tmp_path, "has 250 rows .* but only 100 arrived")
