"""Workers in a storm: nothing is lost, skipped or done twice, and nobody types a command.

CHAOS_SECONDS and CHAOS_SEED choose how long and which; `make chaos SECONDS=600 SEED=7` sets both.
"""

from __future__ import annotations

import pytest

from tests.acceptance.flow import Flow
from tests.acceptance.proxy import Proxy
from tests.acceptance.test_faults import small_disk
from tests.chaos.storm import Storm, read_length, read_seed
from tests.postgres import PostgresServer
from tests.project import Project

CUT = 50
"""Every so many COMMITs the connection breaks before the answer arrives."""


@pytest.mark.timeout(7200)
def test_workers_on_a_disk_that_fills_up_lose_and_repeat_nothing(project: Project) -> None:
    with small_disk(project.path / ".dataflow", "64m") as disk:
        flow = Flow(project, f"sqlite:///{disk}/dataflow.db")
        try:
            seconds = read_length(60)
            storm = Storm(flow, read_seed(), chunks=int(seconds * 4))
            storm.add_full_disk(disk)
            storm.rage(seconds)
            storm.calm()
            storm.check()
        finally:
            flow.end()


@pytest.mark.timeout(7200)
def test_workers_whose_server_restarts_and_whose_connections_break_lose_and_repeat_nothing(
    project: Project,
) -> None:
    with PostgresServer.create(durable=True) as server:
        flow = Flow(project, server.url())
        try:
            seconds = read_length(60)
            storm = Storm(flow, read_seed(), chunks=int(seconds * 4))
            with Proxy(server.url(), cut=lambda number: number % CUT == 0) as proxy:
                storm.add_server(server, proxy)
                storm.rage(seconds)
                storm.calm()
            storm.check()
        finally:
            flow.end()
