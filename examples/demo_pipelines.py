"""The demo's second part: orders from an API into a lake, an outage, twelve monthly results, the proof.

The proof uses what others recorded: the API its answers, DuckDB the rows in the published files.
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
    """Say in one sentence what pipelines, or this demo of them, need and lack; empty if nothing."""
    sys.path.insert(0, str(ROOT / "src"))
    from dataflow.errors import ConfigError
    from dataflow.pipelines.spark.session_setup import check_java

    packages = [name for name in ("pyspark", "pyarrow", "duckdb") if find_spec(name) is None]
    if packages:
        return f"Not installed: {', '.join(packages)}. Install them: pip install '.[spark,dev]'."
    try:
        check_java(os.environ)
    except ConfigError as error:
        return str(error)
    return ""


def run_pipelines(demo: Demo) -> None:
    """Go from the API to twelve months that any program can read; every step says what it shows."""
    with serving(demo):
        fetch_and_kill(demo)
        fetch_again(demo)
    run_months(demo)
    months = read_with_duckdb(demo)
    prove(demo, months)


@contextmanager
def serving(demo: Demo) -> Iterator[None]:
    """Serve the API while the body runs; it prints the settings for its clients."""
    demo.step("Now pipelines on Spark. An API serves orders page by page, signed with Hawk.")
    print("   $ python orders_api.py --port 0 &", flush=True)
    api = demo.start("python orders_api.py --port 0", stdout=subprocess.PIPE)
    try:
        assert api.stdout is not None
        told, settings = api.stdout.readline(), api.stdout.readline()
        expect(settings.startswith("export "), f"the API should print its settings: {told}{settings}")
        print(f"   {told}   $ {settings}", end="")
        demo.environment |= dict(setting.split("=", 1) for setting in settings.split()[1:])
        yield
    finally:
        api.terminate()
        api.wait()


def fetch_and_kill(demo: Demo) -> None:
    """Run the dataset pipeline in an outage of the API and kill it while it waits."""
    show(demo.run("dataflow pipeline list"), 3)
    demo.step(f"All orders go into the lake. The API fails after page {FETCHED}, then comes a kill -9.")
    outage = demo.folder / orders_api.OUTAGE
    print(f"   $ echo {FETCHED} > {outage.name}")
    outage.write_text(f"{FETCHED}\n")
    print(f"   $ dataflow run {DATASET} --quiet &", flush=True)
    # Quiet: whether it starts Spark before it is killed depends on the machine.
    process = demo.start(f"dataflow run {DATASET} --quiet", stdin=subprocess.DEVNULL)
    wait_for_outage(demo, process)
    os.kill(process.pid, signal.SIGKILL)
    expect(process.wait() == -signal.SIGKILL, f"it should be killed, and ended with {process.returncode}")
    print(f"   $ kill -9 {process.pid}")
    print(f"   It had fetched {FETCHED} pages and was waiting for the API. Nothing is published:")
    show(demo.run("dataflow chunks omis_dataset"))
    outage.unlink()
    print(f"   $ rm {outage.name}")


def wait_for_outage(demo: Demo, process: subprocess.Popen[str]) -> None:
    """Wait until the pipeline retries the missing page: by then the pages before it are kept."""
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while sum(status == 503 for status, _, _ in list_answers(demo)) < 2:
        if process.poll() is not None or time.monotonic() > give_up_at:
            process.kill()
            fail(f"dataflow run {DATASET} should meet the outage; its exit code is {process.returncode}")
        time.sleep(0.05)


def fetch_again(demo: Demo) -> None:
    """Run the same command, which continues after the last fetched page."""
    before = len(list_answers(demo))
    demo.step("The same command again.")
    show(demo.run(f"dataflow run {DATASET}"))
    run = demo.ask(f"dataflow runs --job {DATASET} --outcome done")[0]
    show(demo.run(f"dataflow logs {run['run_id']}"), most=4)
    first = list_answers(demo)[before][1]
    expect(first == FETCHED + 1, f"it should continue with page {FETCHED + 1}, not {first}")


def run_months(demo: Demo) -> None:
    """Catch up on twelve due intervals with the ordinary command."""
    demo.step(f"The completed orders of each month: {MONTHS} results are due, and one command catches up.")
    show(demo.run(f"dataflow run {VIEW} --drain"))
    chunks = demo.ask("dataflow chunks completed_omis_orders")
    states = Counter((chunk["status"], chunk["version"]) for chunk in chunks)
    expect(states == {("READY", 1): MONTHS}, f"each of {MONTHS} months should be published once: {states}")


def read_with_duckdb(demo: Demo) -> Months:
    """Read the result as any program that reads Parquet can; return each month's orders and pence."""
    demo.step("The published files are Parquet. DuckDB reads them directly, without Spark.")
    show(demo.run(READ_MONTHS), 30)
    import duckdb  # without it this part is skipped

    files = list_files(demo, "completed_omis_orders")
    source = "read_parquet(?, hive_partitioning = true)"
    query = f"select dataid, count(*), sum(Subtotal) * 100 from {source} group by dataid"
    found = duckdb.execute(query, [files]).fetchall()
    return {month: (orders, int(pence)) for month, orders, pence in found}


def prove(demo: Demo, months: Months) -> None:
    """Prove that every served order is published once and that every month has the right sum."""
    import duckdb

    demo.step("The count, from what the API recorded and what DuckDB finds.")
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
    expect(pages == dict.fromkeys(range(1, orders_api.PAGES + 1), 1), f"pages were requested again: {pages}")
    expect(
        served == rows == orders == orders_api.ORDERS,
        f"{orders_api.ORDERS} orders should be published",
    )
    expect(len(wanted) == MONTHS and not wrong, f"these months do not match the orders: {sorted(wrong)}")


def add_up_months() -> Months:
    """Compute what each month must have, from the orders themselves."""
    pence: dict[str, list[int]] = defaultdict(list)
    for order in orders_api.list_orders():
        if order["status"] == "complete":
            moment = datetime.fromisoformat(order["completed_on"]).astimezone(UTC)
            pence[f"{moment:%Y-%m}"].append(order["subtotal"])
    return {month: (len(amounts), sum(amounts)) for month, amounts in pence.items()}


def list_answers(demo: Demo) -> list[tuple[int, int, int]]:
    """List what the API recorded of each answer: status, page and rows."""
    log = demo.folder / orders_api.LOG
    lines = log.read_text().splitlines() if log.exists() else []
    return [(int(status), int(page), int(rows)) for status, page, rows in map(str.split, lines)]


def list_files(demo: Demo, dataset: str) -> list[str]:
    """List the files of all chunks of the dataset."""
    return [file for chunk in demo.ask(f"dataflow locate {dataset}") for file in chunk["files"]]
