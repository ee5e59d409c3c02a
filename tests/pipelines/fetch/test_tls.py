"""Fetching over TLS: only from a server with a certificate that the system trusts."""

from __future__ import annotations

import ssl
import threading
import time
from pathlib import Path

import pytest

from dataflow.errors import FetchError, FetchStopped
from dataflow.model.record import replace
from tests.pipelines.api_server import ApiServer, Hawk
from tests.pipelines.fetch.fetching import HAWK, QUICK, fetch, ids_in, make_rows, open_staging, source_of


@pytest.mark.usefixtures("trusted")
def test_pages_are_fetched_over_tls(tmp_path: Path, context: ssl.SSLContext) -> None:
    with ApiServer(make_rows(3000), 1000, Hawk("our-id", "our-key"), tls=context) as server:
        assert ids_in(fetch(source_of(server, credentials=HAWK), tmp_path)) == list(range(3000))
        assert server.connections == 1


def test_a_self_signed_certificate_is_refused_immediately(tmp_path: Path, context: ssl.SSLContext) -> None:
    with ApiServer(make_rows(30), 10, tls=context) as server:
        with pytest.raises(FetchError, match=r"The certificate of https://127.* is not valid: self"):
            fetch(source_of(server, credentials=HAWK), tmp_path)
        assert server.seen == []


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("fault", ["hang", "trickle"])
def test_the_time_limit_holds_over_tls(tmp_path: Path, context: ssl.SSLContext, fault: str) -> None:
    with ApiServer(make_rows(30), 10, tls=context) as server:
        server.fail(1, fault)
        source = source_of(server, limits=replace(QUICK, request_seconds=0.5))
        assert ids_in(fetch(source, tmp_path)) == list(range(30))


@pytest.mark.usefixtures("trusted")
def test_a_stop_is_noticed_over_tls(tmp_path: Path, context: ssl.SSLContext) -> None:
    with ApiServer(make_rows(30), 10, tls=context) as server:
        server.fail(1, "hang")
        source = source_of(server)
        stop = threading.Event()
        parts = source.fetch(open_staging(source, tmp_path), stop)
        next(parts)
        stop.set()
        before = time.monotonic()
        with pytest.raises(FetchStopped):
            next(parts)
        assert time.monotonic() - before < 3
