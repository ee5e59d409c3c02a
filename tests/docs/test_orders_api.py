"""The API of the demo does what its page says of Hawk: who is not known, or comes twice, is not let in."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import mohawk
import pytest

from tests.acceptance.flow import wait_until
from tests.docs.pages import ROOT

NOTHING = {"content": "", "content_type": ""}
RESET = struct.pack("ii", 1, 0)
"""Closes a connection as kill -9 does while an answer arrives."""


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What the API tells those who ask it."""
    command = [sys.executable, str(ROOT / "examples" / "orders_api.py"), "--port", "0"]
    with (
        (tmp_path / "errors").open("w") as errors,
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=errors, text=True) as api,
    ):
        assert api.stdout is not None
        api.stdout.readline()
        told = dict(setting.split("=", 1) for setting in api.stdout.readline().split()[1:])
        yield told | {"pid": str(api.pid)}
        api.terminate()


def sign(settings: dict[str, str], **options: object) -> tuple[str, mohawk.Sender]:
    url = f"{settings['DATAHUB_BASE_URL']}/v4/dataset/omis-dataset?page=120"
    key = {"id": settings["HAWK_ID"], "key": settings["HAWK_KEY"], "algorithm": "sha256"}
    return url, mohawk.Sender(key, url, "GET", **NOTHING, **options)


def ask(url: str, header: str) -> httpx.Response:
    return httpx.get(url, headers={b"Authorization": header.encode()})


def test_who_signs_gets_a_page_that_is_signed_too(settings: dict[str, str]) -> None:
    url, signed = sign(settings)
    answer = ask(url, signed.request_header)
    kind = answer.headers["Content-Type"]
    signed.accept_response(answer.headers["Server-Authorization"], content=answer.content, content_type=kind)
    page = answer.json()
    assert (page["count"], page["next"], len(page["results"])) == (60_000, None, 500)


def test_who_does_not_or_comes_twice_or_late_gets_none(settings: dict[str, str]) -> None:
    url, signed = sign(settings)
    assert ask(url, signed.request_header).status_code == 200
    late = sign(settings, _timestamp=int(time.time()) - 3600)[1].request_header
    forged = sign(settings | {"HAWK_KEY": "another key"})[1].request_header
    for header in ("", 'Hawk id="data-flow", mac="ü"', signed.request_header, late, forged):
        answer = ask(url, header)
        assert answer.status_code == 401
        assert "results" not in answer.json()


def test_a_client_that_is_killed_leaves_no_trace(settings: dict[str, str], tmp_path: Path) -> None:
    url, signed = sign(settings)
    place = urlsplit(url)
    request = f"GET {place.path}?{place.query} HTTP/1.1\r\nHost: {place.netloc}\r\n"
    with socket.create_connection((place.hostname, place.port or 0)) as client:
        client.sendall(f"{request}Authorization: {signed.request_header}\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    wait_until(lambda: len(os.listdir(f"/proc/{settings['pid']}/task")) == 1)  # its thread has ended
    assert (tmp_path / "errors").read_text() == ""
