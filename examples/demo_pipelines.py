"""The demo's second part: orders from an API into a lake, an outage on the way, twelve months, and the proof.

What is proven is what others wrote down: the API its answers, DuckDB what it finds in the published files.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec

import orders_api
from demo_project import ROOT, Demo, expect, fail, show

DATASET = "OMISDatasetPipeline"
VIEW = "CompletedOMISOrderViewPipeline"
MONTHS = 12
FETCHED = 60
PATIENCE_SECONDS = 300
READ_MONTHS = (
    "python -c 'import duckdb, sys; print(duckdb.read_parquet(sys.argv[1:], hive_partitioning=True)"
    '.aggregate("dataid, count(*) as orders, sum(Subtotal)::decimal(12,2) as total").order("dataid"))\' '
    "$(dataflow locate completed_omis_orders)"
)

Months = dict[str, tuple[int, int]]


def find_missing() -> str:
    """What pipelines, or this demo of them, would need and is not there, in a sentence; empty if all is."""
    sys.path.insert(0, str(ROOT / "src"))
    from dataflow.errors import ConfigError
    from dataflow.pipelines.spark.java import check_java

    packages = [name for name in ("pyspark", "pyarrow", "duckdb") if find_spec(name) is None]
    if packages:
        return f"There is no {' nor '.join(packages)}. Install them: pip install '.[spark,dev]'."
    try:
        check_java(os.environ)
    except ConfigError as error:
        return str(error)
    return ""


def run_pipelines(demo: Demo) -> None:
    """From the API to twelve months that anybody can read; every step says what it shows."""
    with serving(demo):
        fetch_and_kill(demo)
        fetch_again(demo)
    run_months(demo)
    months = read_with_duckdb(demo)
    prove(demo, months)


@contextmanager
def serving(demo: Demo) -> Iterator[None]:
    """The API, for as long as the body lasts; what it prints are the settings of those who ask it."""
    demo.step("Now pipelines on Spark. An API has orders; it serves them page by page, signed with Hawk.")
    print("   $ python orders_api.py --port 0 &", flush=True)
    api = demo.start("python orders_api.py --port 0", stdout=subprocess.PIPE)
    try:
        assert api.stdout is not None
        told, settings = api.stdout.readline(), api.stdout.readline()
        expect(settings.startswith("export "), f"the API was to tell its settings: {told}{settings}")
        print(f"   {told}   $ {settings}", end="")
        demo.environment |= dict(setting.split("=", 1) for setting in settings.split()[1:])
        yield
    finally:
        api.terminate()
        api.wait()


def fetch_and_kill(demo: Demo) -> None:
    """The dataset pipeline, in an outage of the API, killed while it waits."""
    show(demo.run("dataflow pipeline list"), 3)
    demo.step(f"All orders into the lake; but the API fails after page {FETCHED}, and then comes a kill -9.")
    outage = demo.folder / orders_api.OUTAGE
    print(f"   $ echo {FETCHED} > {outage.name}")
    outage.write_text(f"{FETCHED}\n")
    print(f"   $ dataflow run {DATASET} &", flush=True)
    process = demo.start(f"dataflow run {DATASET}", stdin=subprocess.DEVNULL)
    wait_for_outage(demo, process)
    os.kill(process.pid, signal.SIGKILL)
    expect(process.wait() == -signal.SIGKILL, f"it was to be killed and ended with {process.returncode}")
    print(f"   $ kill -9 {process.pid}")
    print(f"   It had {FETCHED} pages and was waiting for the API to come back. Nothing is published:")
    show(demo.run("dataflow chunks omis_dataset"))
    outage.unlink()
    print(f"   $ rm {outage.name}")


def wait_for_outage(demo: Demo, process: subprocess.Popen[str]) -> None:
    """Waits until the pipeline asks again for the page it does not get: those before it are kept by then."""
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while sum(status == 503 for status, _, _ in list_answers(demo)) < 2:
        if process.poll() is not None or time.monotonic() > give_up_at:
            process.kill()
            fail(f"dataflow run {DATASET} was to meet the outage; its exit code is {process.returncode}")
        time.sleep(0.05)


def fetch_again(demo: Demo) -> None:
    """The same command goes on after the page it had."""
    before = len(list_answers(demo))
    demo.step("The same command again.")
    show(demo.run(f"dataflow run {DATASET}"))
    run = demo.ask(f"dataflow runs --job {DATASET} --outcome done")[0]
    show(demo.run(f"dataflow logs {run['run_id']}"))
    first = list_answers(demo)[before][1]
    expect(first == FETCHED + 1, f"it was not to go on with page {first}")


def run_months(demo: Demo) -> None:
    """Twelve intervals that are all due: catching up is the ordinary command."""
    demo.step(f"The completed orders of each month: {MONTHS} results are due, and the command catches up.")
    show(demo.run(f"dataflow run {VIEW} --drain"))
    chunks = demo.ask("dataflow chunks completed_omis_orders")
    states = Counter((chunk["status"], chunk["version"]) for chunk in chunks)
    expect(states == {("READY", 1): MONTHS}, f"each of {MONTHS} months was to be published once: {states}")


def read_with_duckdb(demo: Demo) -> Months:
    """Any program that reads Parquet can read the result; gives each month's orders and pence."""
    demo.step("What is published is Parquet. DuckDB reads it where it is, and no Spark is needed.")
    show(demo.run(READ_MONTHS), 30)
    import duckdb  # without it this part is skipped

    files = list_files(demo, "completed_omis_orders")
    source = "read_parquet(?, hive_partitioning = true)"
    query = f"select dataid, count(*), sum(Subtotal) * 100 from {source} group by dataid"
    found = duckdb.execute(query, [files]).fetchall()
    return {month: (orders, int(pence)) for month, orders, pence in found}


def prove(demo: Demo, months: Months) -> None:
    """Every order that the API served is published once, and every month has what it must have."""
    import duckdb

    demo.step("The count, from what the API wrote down and what DuckDB finds.")
    pages = Counter(page for status, page, _ in list_answers(demo) if status == 200)
    served = sum(rows for status, _, rows in list_answers(demo) if status == 200)
    files = list_files(demo, "omis_dataset")
    rows, orders = duckdb.execute(
        "select count(*), count(distinct omis_order_reference) from read_parquet(?)", [files]
    ).fetchall()[0]
    wanted = add_up_months()
    wrong = {month for month in wanted.keys() | months.keys() if wanted.get(month) != months.get(month)}
    print(f"   The API answered {pages.total()} pages in all, each of its {orders_api.PAGES} once.")
    print(f"\n{served:,} orders served, {rows:,} published, {rows - orders} twice")
    print(f"{len(months)} months, {len(wrong)} with a wrong sum")
    expect(pages == dict.fromkeys(range(1, orders_api.PAGES + 1), 1), f"pages were asked for again: {pages}")
    expect(served == rows == orders == orders_api.ORDERS, f"there are {orders_api.ORDERS} orders")
    expect(len(wanted) == MONTHS and not wrong, f"{sorted(wrong)} are not as the orders say")


def add_up_months() -> Months:
    """What each month must have, from the orders themselves."""
    pence: dict[str, list[int]] = defaultdict(list)
    for order in orders_api.list_orders():
        if order["status"] == "complete":
            moment = datetime.fromisoformat(order["completed_on"]).astimezone(UTC)
            pence[f"{moment:%Y-%m}"].append(order["subtotal"])
    return {month: (len(amounts), sum(amounts)) for month, amounts in pence.items()}


def list_answers(demo: Demo) -> list[tuple[int, int, int]]:
    """What the API wrote down of each answer: status, page and rows."""
    log = demo.folder / orders_api.LOG
    lines = log.read_text().splitlines() if log.exists() else []
    return [(int(status), int(page), int(rows)) for status, page, rows in map(str.split, lines)]


def list_files(demo: Demo, dataset: str) -> list[str]:
    """The files of all chunks that together are the dataset now."""
    return [file for chunk in demo.ask(f"dataflow locate {dataset}") for file in chunk["files"]]
