"""A process killed during a fetch: the next run resumes at the next page, and the parts are the same."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dataflow.errors import FetchError
from dataflow.pipelines.fetch.pagination import Pagination
from dataflow.pipelines.fetch.staging_folder import read_page_manifest
from tests.pipelines.api_server import ApiServer, Hawk
from tests.pipelines.fetch.fetching import (
    HAWK,
    STYLE_NAMES,
    STYLES,
    fetch,
    ids_in,
    make_rows,
    open_staging,
    source_of,
)

ROOT = Path(__file__).resolve().parents[3]
FETCH = """
import pickle, sys
from dataflow.pipelines.fetch.staging_folder import Staging
source = pickle.loads(bytes.fromhex(sys.argv[1]))
for part in source.fetch(Staging(sys.argv[2], source.fingerprint)):
    pass
"""


def kill_at_page(server: ApiServer, source: object, folder: Path, page: int) -> None:
    """Run a fetch in a separate process until it waits for this page, then kill it."""
    server.fail(page, "hang")
    command = [sys.executable, "-c", FETCH, pickle.dumps(source).hex(), str(folder)]
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"})
    try:
        wait_for_parts(process, folder, page)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def wait_for_parts(process: subprocess.Popen[bytes], folder: Path, count: int) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        manifest = read_page_manifest(str(folder))
        if manifest and len(manifest.entries) == count:
            return
        time.sleep(0.01)
    raise AssertionError(f"the fetch did not come as far as page {count}")


@pytest.mark.parametrize(("style", "pagination"), STYLES, ids=STYLE_NAMES)
def test_after_a_kill_the_next_run_resumes_with_the_page_in_flight(
    tmp_path: Path, style: str, pagination: Pagination
) -> None:
    with ApiServer(make_rows(195), 10, Hawk("our-id", "our-key")) as server:
        source = source_of(server, style, pagination=pagination, credentials=HAWK)
        kill_at_page(server, source, tmp_path / "1", 8)
        before = {path: path.read_bytes() for path in (tmp_path / "1").glob("part-*.json")}
        asked = len(server.seen)
        staging = open_staging(source, tmp_path, 2)
        assert staging.continue_from({str(tmp_path / "1"): True}) == 8
        resumed = list(source.fetch(staging))
        # None of the eight staged pages was requested again.
        assert min(server.list_asked_pages()[asked:]) == 8
        server.seen.clear()
        clean = fetch(source, tmp_path, 3)
    assert ids_in(resumed) == list(range(195))
    assert [Path(part.path).read_bytes() for part in resumed] == [
        Path(part.path).read_bytes() for part in clean
    ]
    assert {path: path.read_bytes() for path in before} == before
    assert open_staging(source, tmp_path, 2).complete


def test_in_a_chain_only_the_page_in_flight_is_requested_twice(tmp_path: Path) -> None:
    with ApiServer(make_rows(195), 10) as server:
        source = source_of(server)
        kill_at_page(server, source, tmp_path / "1", 8)
        staging = open_staging(source, tmp_path, 2)
        staging.continue_from({str(tmp_path / "1"): True})
        list(source.fetch(staging))
        assert server.list_asked_pages() == [*range(9), *range(8, 20)]


def test_a_kill_before_the_final_mark_causes_no_further_request(tmp_path: Path) -> None:
    for style, pagination in (STYLES[0], STYLES[3]):
        with ApiServer(make_rows(40), 10) as server:
            source = source_of(server, style, pagination=pagination)
            fetch(source, tmp_path / style, 1)
            manifest = tmp_path / style / "1" / "manifest.jsonl"
            lines = manifest.read_bytes().splitlines(keepends=True)
            assert b'"complete"' in lines[-1]
            manifest.write_bytes(b"".join(lines[:-1]))
            server.seen.clear()
            staging = open_staging(source, tmp_path / style, 2)
            staging.continue_from({str(tmp_path / style / "1"): True})
            assert ids_in(list(source.fetch(staging))) == list(range(40))
            assert server.seen == [] and staging.complete


def test_a_complete_fetch_is_read_again_without_a_request(tmp_path: Path) -> None:
    with ApiServer(make_rows(40), 10) as server:
        source = source_of(server)
        fetch(source, tmp_path, 1)
        server.seen.clear()
        staging = open_staging(source, tmp_path, 2)
        staging.continue_from({str(tmp_path / "1"): True})
        assert ids_in(list(source.fetch(staging))) == list(range(40))
        assert server.seen == []


def test_a_position_that_the_source_has_forgotten_is_not_retried_forever(tmp_path: Path) -> None:
    with ApiServer(make_rows(40), 10) as server:
        source = source_of(server)
        server.fail(2, "500", times=3)
        with pytest.raises(FetchError, match="3 attempts"):
            fetch(source, tmp_path, 1)
        server.fail(2, "410")
        second = open_staging(source, tmp_path, 2)
        assert second.continue_from({str(tmp_path / "1"): True}) == 2
        with pytest.raises(
            FetchError, match=r"no longer knows this position. The next run starts with the first page"
        ):
            list(source.fetch(second))
        third = open_staging(source, tmp_path, 3)
        assert third.continue_from({str(tmp_path / "1"): True, str(tmp_path / "2"): True}) == 0
        assert ids_in(list(source.fetch(third))) == list(range(40))


def test_a_loop_back_to_a_page_of_an_earlier_run_is_detected(tmp_path: Path) -> None:
    with ApiServer(make_rows(90), 10) as server:
        source = source_of(server)
        server.fail(4, "404")
        with pytest.raises(FetchError):
            fetch(source, tmp_path, 1)
        server.fail(5, "loop")
        server.seen.clear()
        staging = open_staging(source, tmp_path, 2)
        staging.continue_from({str(tmp_path / "1"): True})
        with pytest.raises(FetchError, match="links back to"):
            list(source.fetch(staging))
        assert server.list_asked_pages() == [4, 5]
