"""A real server process over a project, and requests to it as its page sends them."""

from __future__ import annotations

import subprocess
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.acceptance.flow import Flow


class Served:
    """`dataflow serve` on a free port of this machine; `client` has opened the link that it printed."""

    def __init__(self, flow: Flow, *words: str) -> None:
        self.flow = flow
        self.process = flow.project.start(
            *("dataflow", "serve", "--port", "0", *words),
            env=flow.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdout
        self.url = self.process.stdout.readline().strip()
        parts = urlsplit(self.url)
        self.base = f"{parts.scheme}://{parts.netloc}"
        self.host = parts.netloc
        self.token = parse_qs(parts.query).get("token", [""])[0]
        own = {"Sec-Fetch-Site": "same-origin"}
        self.client = httpx.Client(base_url=self.base, headers=own, timeout=120)
        if self.token:
            self.client.get(self.url)
        self.anonymous = httpx.Client(base_url=self.base, timeout=120)

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.client.close()
        self.anonymous.close()
        self.stop()

    def stop(self) -> tuple[int, str]:
        """End the server; return its exit code and what it wrote to stderr."""
        if self.process.poll() is None:
            self.process.terminate()
        text = self.process.communicate(timeout=60)[1]
        return self.process.returncode, text

    def get(self, path: str, **query: Any) -> Any:
        """The JSON of a read that succeeds."""
        return self._json(self.client.get(f"/api/v1{path}", params=query))

    def post(self, path: str, key: str = "", **body: Any) -> Any:
        """The JSON of an action that succeeds; `from_` is the field `from`."""
        return self._json(self.send(path, key, **body))

    def send(self, path: str, key: str = "", **body: Any) -> httpx.Response:
        """The response of an action."""
        fields = {name.rstrip("_"): value for name, value in body.items()}
        headers = {"Idempotency-Key": key} if key else {}
        return self.client.post(f"/api/v1{path}", json=fields, headers=headers)

    def _json(self, response: httpx.Response) -> Any:
        assert response.status_code == 200, response.text
        return response.json()
