"""What an ingest is compared to, each run as a process of its own: `python ingest_peers.py PEER API TABLE`.

The database's URL comes in the variable TARGET; what is printed at the end is the seconds it took.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Any

from benchmarks.page_server import COLUMNS


def loop(api: str, target: str, table: str) -> float:
    """The loop one writes by hand: httpx, then COPY by psycopg into a table with its key; checks nothing."""
    import httpx
    import psycopg

    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    with psycopg.connect(target) as connection, httpx.Client() as client:
        started = perf_counter()
        connection.execute(f"create table {table} ({columns})".encode())
        copying = f"copy {table} ({', '.join(COLUMNS)}) from stdin".encode()
        with connection.cursor() as cursor, cursor.copy(copying) as copy:
            url = api
            while url:
                page = client.get(url).json()
                for row in page["results"]:
                    row["extra"] = json.dumps(row["extra"])
                    copy.write_row(tuple(row.values()))
                url = page["next"]
        connection.commit()
        return perf_counter() - started


def dlt(api: str, target: str, table: str) -> float:
    """dlt, replacing a table with the strategy `staging-optimized`."""
    import dlt as library
    import httpx

    def pages() -> Iterator[list[dict[str, Any]]]:
        with httpx.Client() as client:
            url = api
            while url:
                page = client.get(url).json()
                yield page["results"]
                url = page["next"]

    resource = library.resource(
        pages, name=table, write_disposition="replace", primary_key="id", max_table_nesting=0
    )
    destination = library.destinations.postgres(target, replace_strategy="staging-optimized")
    pipeline = library.pipeline(table, pipelines_dir=os.getcwd(), destination=destination, dataset_name="dlt")
    started = perf_counter()
    pipeline.run(resource)
    return perf_counter() - started


if __name__ == "__main__":
    peer = {"loop": loop, "dlt": dlt}[sys.argv[1]]
    print(peer(sys.argv[2], os.environ["TARGET"], sys.argv[3]))
