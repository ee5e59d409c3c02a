"""Servers that die for a minute, cables that are pulled, disks that lie, output by the gigabyte."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.acceptance.flow import RECORDS, Flow, finish, wait_until
from tests.acceptance.proxy import Proxy
from tests.acceptance.test_faults import peak_memory
from tests.chaos.history import (
    BEATING,
    assert_each_chunk_was_done_once,
    assert_no_two_runs_of_a_chunk_overlap,
)
from tests.postgres import PostgresServer, create_database, find_free_port
from tests.project import Project


@pytest.mark.timeout(400)
@pytest.mark.parametrize("how", ["restarted", "killed"])
def test_a_server_that_dies_every_few_seconds_for_a_minute_loses_and_repeats_nothing(
    project: Project, how: str
) -> None:
    with PostgresServer.create(durable=True) as server:
        flow = Flow(project, server.url(create_database(server)))
        try:
            dataids = [str(number) for number in range(600)]
            flow.declare()
            flow.ready("bobin", *dataids)
            flow.script("loadbob.py", BEATING.replace("{longest}", "0.6"), interpreter=sys.executable)
            workers = [flow.start("--drain", "-j", "2", "--lease", "10m", "loadbob.py") for _ in range(4)]
            until = time.monotonic() + 60
            while time.monotonic() < until and any(worker.poll() is None for worker in workers):
                time.sleep(random.uniform(2, 5))
                if how == "killed":
                    server.kill()
                    server.start()
                else:
                    server.restart(immediate=True)
            for worker in workers:
                code, _, error = finish(worker, timeout=200)
                assert code == 0, error
                assert "Traceback" not in error
            assert_no_two_runs_of_a_chunk_overlap(flow)
            assert_each_chunk_was_done_once(flow, dataids)
            assert Counter(flow.outcomes()) == {"DONE": len(dataids)}
        finally:
            flow.end()


@pytest.mark.timeout(400)
def test_a_cable_pulled_at_random_lets_no_two_runs_overlap(postgres_flow: Flow) -> None:
    flow = postgres_flow
    dataids = [str(number) for number in range(80)]
    flow.declare()
    flow.ready("bobin", *dataids)
    flow.script("loadbob.py", BEATING.replace("{longest}", "1.5"), interpreter=sys.executable)
    stop = threading.Event()
    short = ("--lease", "5s", "--grace", "0.5s")
    with Proxy(flow.url, cut=lambda number: random.random() < 0.05) as proxy:
        env = {"DATAFLOW_STORE": proxy.url}

        def pull() -> None:
            while not stop.wait(random.uniform(1, 5)):
                proxy.stall()
                time.sleep(random.uniform(0.5, 8))
                proxy.go_on()

        threading.Thread(target=pull, daemon=True).start()
        until = time.monotonic() + 60
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        through: list[subprocess.Popen[str]] = []
        direct: list[subprocess.Popen[str]] = []
        while time.monotonic() < until and set(flow.states().values()) != {"DONE"}:
            through = [one for one in through if one.poll() is None] or [
                flow.start("--drain", *short, "loadbob.py", env=env, **quiet)
            ]
            direct = [one for one in direct if one.poll() is None] or [
                flow.start("--drain", *short, "loadbob.py", **quiet)
            ]
            time.sleep(0.5)
        stop.set()
        proxy.go_on()
        for worker in through + direct:
            finish(worker, timeout=120)
    for _ in range(10):
        waiting = [dataid for dataid, state in flow.states().items() if state in ("WAITING", "FAILED")]
        if waiting:
            flow.dataflow("resubmit", "loadbob", *waiting)
        flow.runjob("--drain", "-j", "2", "--quiet", "loadbob.py", code=None, timeout=120)
        if set(flow.states().values()) == {"DONE"}:
            break
    assert_no_two_runs_of_a_chunk_overlap(flow)
    assert_each_chunk_was_done_once(flow, dataids)


@pytest.mark.timeout(300)
def test_a_gigabyte_without_a_newline_is_cut_off_at_the_limit_in_bounded_memory(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    key = {"PASSKEY": "correct horse battery"}
    flow.dataflow("dataset", "add", "bobin", "--password-stdin", input="hunter2hunter2", env=key)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", 'head -c 1000000000 /dev/zero | tr "\\0" "\\377"; ' + RECORDS)
    running = flow.start("loadbob.sh", stdout=subprocess.DEVNULL, env=key)
    peak = 0
    while running.poll() is None:
        peak = max(peak, peak_memory(running.pid))
        time.sleep(0.05)
    assert finish(running)[0] == 0
    [log] = (flow.path / ".dataflow/logs").iterdir()
    assert log.stat().st_size < 300_000_000
    with log.open("rb") as file:
        file.seek(-200, 2)
        assert b"limit" in file.read()
    # A key costs 128 MiB to derive; the output itself must add next to nothing.
    assert 0 < peak < 300_000_000


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes the errors")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("nth", [1, 2, 3, 5, 8, 13, 21])
def test_a_disk_that_fails_to_sync_is_never_believed(sqlite_flow: Flow, nth: int) -> None:
    flow = sqlite_flow
    flow.declare()
    dataids = [str(number) for number in range(10)]
    flow.ready("bobin", *dataids)
    flow.script("loadbob.sh")
    inject = f"inject=fsync,fdatasync:error=EIO:when={nth}+"
    trace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", inject]
    command = flow.project.command("RunJob", "--drain", "--lease", "4s", "--grace", "0.5s", "loadbob.sh")
    failed = flow.project.run(*trace, *command, env=flow.env, check=False, timeout=120)
    assert "Traceback" not in failed.stderr
    if failed.returncode == 0:
        assert set(flow.states().values()) == {"DONE"}
    flow.repeat_until_done("--drain", "--quiet", "loadbob.sh", limit_seconds=60)
    assert set(flow.lines()) == set(dataids)
    assert Counter(run.dataid for run in flow.runs() if run.outcome == "DONE") == Counter(dataids)


def test_a_server_that_never_answers_is_told_after_a_while(sqlite_flow: Flow) -> None:
    sqlite_flow.script("loadbob.sh")
    env = {"DATAFLOW_STORE": f"postgresql://etl:secretsecret@127.0.0.1:{find_free_port()}/dataflow"}
    done = sqlite_flow.runjob("loadbob.sh", code=69, env=env, timeout=100)
    assert "does not answer" in done.stderr
    assert "secretsecret" not in done.stderr


@pytest.mark.timeout(400)
def test_the_herd_again_and_again(flow: Flow) -> None:
    """Many short commands instead of a few long ones: every chunk by a RunJob of its own, eight at a time."""
    dataids = [str(number) for number in range(200)]
    flow.declare()
    flow.ready("bobin", *dataids)
    flow.script("loadbob.sh")
    command = " ".join(f"'{word}'" for word in flow.project.command("RunJob", "--quiet", "loadbob.sh"))
    loop = f"n=0; while [ $n -lt 30 ]; do {command} || exit 1; n=$((n + 1)); done"
    herd = [flow.project.start("/bin/sh", "-c", loop, env=flow.env) for _ in range(8)]
    flow.started.extend(herd)
    assert [finish(process, timeout=350)[0] for process in herd] == [0] * 8
    wait_until(lambda: Path(flow.path / "ran").exists())
    assert Counter(flow.lines()) == Counter(dataids)
