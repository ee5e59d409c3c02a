"""Shared by the fetch tests: a source for a server, and the rows that arrived."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dataflow.errors import FetchError
from dataflow.pipelines.fetch.authentication import Credentials
from dataflow.pipelines.fetch.http_source import HttpSource
from dataflow.pipelines.fetch.limits import Limits
from dataflow.pipelines.fetch.pagination import Cursor, NextLink, Offset, PageNumber, Pagination
from dataflow.pipelines.fetch.staging_folder import Staging
from dataflow.pipelines.handover.records import Part
from tests.pipelines.api_server import ApiServer

QUICK = Limits(first_wait_seconds=0.01, attempts=3, request_seconds=20)
HAWK = Credentials("hawk", "our-id", "our-key")
STYLES: list[tuple[str, Pagination]] = [
    ("next", NextLink()),
    ("cursor", Cursor()),
    ("pages", PageNumber()),
    ("pages", PageNumber(total="meta.count")),
    ("offset", Offset(limit=10)),
    ("offset", Offset(limit=10, total="meta.count")),
]
STYLE_NAMES = ["next link", "cursor", "page number", "page number, total", "offset", "offset, total"]


def make_rows(count: int) -> list[dict[str, Any]]:
    return [{"id": number, "name": f"row {number}"} for number in range(count)]


def source_of(server: ApiServer, style: str = "next", **fields: Any) -> HttpSource:
    return HttpSource(f"{server.origin}/{style}", **({"limits": QUICK} | fields))


def open_staging(source: HttpSource, folder: Path, run: int = 1) -> Staging:
    return Staging(str(folder / str(run)), source.fingerprint)


def fetch(source: HttpSource, folder: Path, run: int = 1) -> list[Part]:
    return list(source.fetch(open_staging(source, folder, run)))


def refuse(source: HttpSource, folder: Path, reason: str) -> str:
    """The message with which the fetch fails; it must match."""
    with pytest.raises(FetchError, match=reason) as told:
        fetch(source, folder)
    return str(told.value)


def ids_in(parts: list[Part]) -> list[int]:
    return [row["id"] for part in parts for row in json.loads(Path(part.path).read_bytes())["results"]]
