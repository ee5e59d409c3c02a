"""Pages that stay open: each follows the server's events and fetches itself again, as page.js does."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from time import perf_counter

import httpx

SETTLE_SECONDS = 0.4
PATIENCE = 20
"""Both as in page.js."""
OPENING_SECONDS = 5.0
"""The pages are opened one after the other during this time, before anything is measured."""


@dataclass
class OpenPages:
    """So many pages, and how long their requests took."""

    base: str
    token: str
    paths: tuple[str, ...]
    seconds: list[float] = field(default_factory=list)

    def watch(self, pages: int, seconds: float) -> None:
        """Keep the pages open for a while."""
        asyncio.run(self._watch_all(pages, seconds))

    async def _watch_all(self, pages: int, seconds: float) -> None:
        headers = {"Authorization": f"Bearer {self.token}"}
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(
            base_url=self.base, headers=headers, timeout=60, limits=limits
        ) as client:
            tasks = []
            for number in range(pages):
                path = self.paths[number % len(self.paths)]
                tasks.append(asyncio.create_task(self._watch_one(client, path)))
                await asyncio.sleep(OPENING_SECONDS / pages)
            self.seconds.clear()
            await asyncio.sleep(seconds)
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):
                raise end

    async def _watch_one(self, client: httpx.AsyncClient, path: str) -> None:
        changed = asyncio.Event()
        following = asyncio.create_task(_follow(client, changed))
        try:
            took = 0.0
            while True:
                await changed.wait()
                await asyncio.sleep(max(SETTLE_SECONDS, PATIENCE * took))
                changed.clear()
                started = perf_counter()
                (await client.get(path)).raise_for_status()
                took = perf_counter() - started
                self.seconds.append(took)
        finally:
            following.cancel()


async def _follow(client: httpx.AsyncClient, changed: asyncio.Event) -> None:
    async with client.stream("GET", "/api/v1/events", timeout=None) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("event:"):
                changed.set()
