"""Full disks, cut connections, restarted servers, wrong clocks, floods: nothing lost, nothing twice."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dataflow.runjob.loop import HEARTBEAT_AFTER_SECONDS
from dataflow.store.postgres import PostgresDatabase
from dataflow.store.sqlite import SqliteDatabase
from dataflow.store.sqlite_file import file_system_of, is_network
from tests.acceptance.flow import ONE_JOB, RECORDS, Flow, finish, is_running, wait_until
from tests.project import Project

NO_ROOM = "is full; nothing was changed"


@contextlib.contextmanager
def small_disk(path: Path, size: str) -> Iterator[Path]:
    """A file system of this size; skips the test where none can be mounted."""
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("a small disk can only be mounted by root")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def fill(path: Path) -> Path:
    """Use all free space."""
    ballast = path / "ballast"
    with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as file:
        for size in (65536, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"x" * size)
    return ballast


WAITS = 'echo "$dataid" >> ran; touch "here.$dataid"; until test -e go; do sleep 0.01; done'


def test_a_full_disk_under_the_store_is_waited_for_as_long_as_the_lease_holds(
    project: Project, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "small", "2m") as disk, on_disk(project, disk) as flow:
        running = flow.start("--drain", "loadbob.sh", stderr=(flow.path / "said").open("w"))
        wait_until((flow.path / "here.1").exists)
        ballast = fill(disk)
        (flow.path / "go").touch()
        wait_until(lambda: NO_ROOM in (flow.path / "said").read_text())
        ballast.unlink()
        assert finish(running)[0] == 0
        assert flow.lines() == ["1", "2", "3"]
        assert flow.outcomes() == ["DONE"] * 3


def test_a_full_disk_under_the_store_that_stays_full_loses_nothing(project: Project, tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "2m") as disk, on_disk(project, disk) as flow:
        running = flow.start("--drain", "--lease", "3.2s", "--grace", "0.1s", "loadbob.sh")
        wait_until((flow.path / "here.1").exists)
        ballast = fill(disk)
        (flow.path / "go").touch()
        code, _, error = finish(running)
        assert code == 74, error
        assert NO_ROOM in error
        assert "Traceback" not in error
        ballast.unlink()
        flow.repeat_until_done("--drain", "loadbob.sh")
        with flow.store() as store:
            connection = store.database._connection  # type: ignore[attr-defined]
            assert connection.execute("PRAGMA integrity_check").get == "ok"
        # The work whose outcome could not be written was done again: at least once run, once published.
        assert set(flow.lines()) == {"1", "2", "3"}
        assert Counter(run.dataid for run in flow.runs() if run.outcome == "DONE") == Counter("123")


def test_signals_and_other_children_are_handled_while_an_outcome_cannot_be_written(
    project: Project, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "small", "2m") as disk, on_disk(project, disk) as flow:
        flow.script("loadbob.sh", WAITS + '; test "$dataid" = 1 || { echo $$ > pid; exec sleep 60; }')
        running = flow.start("--drain", "-j", "2", "loadbob.sh", stderr=(flow.path / "said").open("w"))
        wait_until((flow.path / "here.2").exists)
        ballast = fill(disk)
        (flow.path / "go").touch()
        wait_until(lambda: NO_ROOM in (flow.path / "said").read_text())
        child = flow.wait_for_pid("pid")
        running.terminate()
        wait_until(lambda: not is_running(child))
        assert running.poll() is None
        running.terminate()
        finish(running)
        assert (flow.path / "said").read_text().count(
            "Store unavailable; retrying. Press Ctrl-C twice to give up."
        ) == 1
        ballast.unlink()


def test_runs_that_end_while_the_store_refuses_claims_are_recorded(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1", "2", "3")
    flow.script("loadbob.sh", 'touch "here.$dataid"; until test -e "go.$dataid"; do sleep 0.01; done')
    running = flow.start("--drain", "-j", "2", "loadbob.sh", stderr=(flow.path / "said").open("w"))
    wait_until((flow.path / "here.2").exists)
    wait_until((flow.path / "here.1").exists)
    refuse = "CREATE TRIGGER refuse BEFORE INSERT ON run BEGIN SELECT RAISE(ABORT, 'no claims'); END"
    with flow.store() as store:
        store.database._connection.execute(refuse)  # type: ignore[attr-defined]
    (flow.path / "go.1").touch()
    wait_until(lambda: flow.outcomes() == ["DONE", "RUNNING"])
    wait_until(lambda: "Store unavailable; retrying" in (flow.path / "said").read_text())
    (flow.path / "go.2").touch()
    wait_until(lambda: flow.outcomes() == ["DONE", "DONE"])
    assert finish(running)[0] == 74
    assert "no claims" in (flow.path / "said").read_text()
    with flow.store() as store:
        store.database._connection.execute("DROP TRIGGER refuse")  # type: ignore[attr-defined]
    (flow.path / "go.3").touch()
    flow.project.run("RunJob", "--drain", "loadbob.sh", env=flow.env)
    assert flow.outcomes() == ["DONE"] * 3


def test_a_run_cancelled_while_the_store_is_read_only_does_not_affect_the_others(
    project: Project, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "small", "2m") as disk, on_disk(project, disk) as flow:
        flow.script("loadbob.sh", 'test "$dataid" != 2 || { echo $$ > pid; exec sleep 60; }; ' + WAITS)
        running = flow.start("--drain", "-j", "3", "--lease", "60s", "--grace", "0.5s", "loadbob.sh")
        wait_until((flow.path / "here.3").exists)
        child = flow.wait_for_pid("pid")
        time.sleep(HEARTBEAT_AFTER_SECONDS + 0.2)
        flow.dataflow("cancel", "2")
        ballast = fill(disk)
        (flow.path / "go").touch()
        wait_until(lambda: not is_running(child))
        time.sleep(0.5)  # until it has tried to tell the store so
        assert running.poll() is None
        ballast.unlink()
        code, _, error = finish(running)
        assert code == 125, error
        assert flow.states() == {"1": "DONE", "2": "FAILED", "3": "DONE"}


@contextlib.contextmanager
def on_disk(project: Project, disk: Path) -> Iterator[Flow]:
    """A project with its store on that disk, and three chunks to work on."""
    flow = Flow(project, f"sqlite:///{disk / 'dataflow.db'}")
    flow.declare()
    flow.ready("bobin", "1", "2", "3")
    flow.script("loadbob.sh", WAITS)
    try:
        yield flow
    finally:
        flow.end()


def test_a_full_disk_under_the_logs_does_not_fail_the_job(sqlite_flow: Flow, tmp_path: Path) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "head -c 3000000 /dev/zero; " + RECORDS)
    with small_disk(tmp_path / "small", "1m") as disk:
        done = flow.runjob("loadbob.sh", env={"DATAFLOW_LOG_DIR": str(disk / "logs")})
    assert flow.outcomes() == ["DONE"]
    assert flow.lines() == ["1"]
    assert len(done.stdout) == 3_000_000
    assert "is incomplete: " in done.stderr


def test_a_log_that_may_not_grow_does_not_fail_the_job(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "head -c 3000000 /dev/zero; " + RECORDS)
    limit = 2_000_000
    running = flow.start(
        "loadbob.sh",
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    code, _, error = finish(running)
    assert code == 0, error
    assert "is incomplete: " in error
    assert flow.outcomes() == ["DONE"]


def test_work_waits_when_there_is_no_space_for_its_context_file(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh")
    (flow.path / ".dataflow").mkdir()
    with small_disk(flow.path / ".dataflow/context", "1m") as disk:
        ballast = fill(disk)
        done = flow.runjob("--waiting-exit-code", "99", "loadbob.sh", code=99)
        assert "Traceback" not in done.stderr
        assert "context" in done.stderr
        assert flow.states() == {"1": "WAITING"}
        assert flow.select("SELECT attempts FROM work") == [(0,)]
        ballast.unlink()
        flow.dataflow("resubmit", "loadbob", "1")
        flow.runjob("loadbob.sh")
        assert list(disk.iterdir()) == []
    assert flow.lines() == ["1"]


def test_a_read_only_project_is_refused_with_its_name(project: Project, tmp_path: Path) -> None:
    project.script("loadbob.sh", RECORDS)
    with read_only(project.path):
        done = project.run("dataflow", "dataset", "add", "bobin", check=False)
        assert done.returncode in (69, 77, 78), done.stderr
        assert str(project.path) in done.stderr
    project.run("dataflow", "db", "upgrade")
    with read_only(project.path):
        done = project.run("RunJob", "loadbob.sh", check=False)
        assert done.returncode in (69, 77, 78), done.stderr
        assert str(project.path) in done.stderr
        assert "Traceback" not in done.stderr
        listing = project.run("dataflow", "runs", check=False)
        assert listing.returncode != 0
        assert "Traceback" not in listing.stderr


@contextlib.contextmanager
def read_only(path: Path) -> Iterator[None]:
    if os.geteuid() != 0:
        path.chmod(0o555)
        try:
            yield
        finally:
            path.chmod(0o755)
        return
    # Root writes through any mode, but not through a read-only mount.
    place = str(path)
    commands = (["mount", "--bind", place, place], ["mount", "-o", "remount,ro,bind", place])
    for command in commands:
        if subprocess.run(command, check=False, capture_output=True).returncode:
            pytest.skip("this root may not mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True)


@pytest.mark.parametrize("limit", [8, 12, 16, 20])
def test_running_out_of_descriptors_is_not_reported_as_a_failure_of_the_script(
    sqlite_flow: Flow, limit: int
) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", *map(str, range(8)))
    flow.script("loadbob.sh", RECORDS + "; sleep 0.1")
    starved = flow.start(
        *("--drain", "-j", "8", "loadbob.sh"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
    )
    code, _, error = finish(starved)
    assert code != 1, error
    assert "Traceback" not in error
    flow.repeat_until_done("--drain", "loadbob.sh")
    assert Counter(run.dataid for run in flow.runs() if run.outcome == "DONE") == Counter("01234567")


def test_a_missing_working_directory_is_reported(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    (flow.path / "gone").mkdir()
    command = " ".join(f"'{word}'" for word in flow.project.command("RunJob", "/bin/true"))
    done = flow.project.run("/bin/sh", "-c", f"cd gone; rmdir ../gone; {command}", env=flow.env, check=False)
    assert done.returncode == 78
    assert "working directory" in done.stderr


def test_network_file_systems_are_recognised_by_name(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/vda / ext4 rw 0 0\n"
        "filer:/export /mnt/share nfs4 rw 0 0\n"
        "//nas/with\\040space /mnt/with\\040space cifs rw 0 0\n"
        "/dev/vdb /mnt/share/local xfs rw 0 0\n"
    )
    wanted = {
        "/data/dataflow.db": "ext4",
        "/mnt/share/deep/dataflow.db": "nfs4",
        "/mnt/shared/dataflow.db": "ext4",
        "/mnt/with space/dataflow.db": "cifs",
        "/mnt/share/local/dataflow.db": "xfs",
    }
    found = {path: file_system_of(path, str(mounts)) for path in wanted}
    assert found == wanted
    assert {kind for kind in found.values() if is_network(kind)} == {"nfs4", "cifs"}


@pytest.mark.parametrize("kind", ["fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.ceph-fuse", "virtiofs"])
def test_a_network_file_system_behind_fuse_is_recognised_too(kind: str) -> None:
    assert is_network(kind)
    assert not is_network("fuse.mergerfs")


def test_a_flood_without_a_newline_is_kept_whole_in_bounded_memory(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    size = 200_000_000
    # Every byte value, so invalid UTF-8 throughout.
    flow.script(
        "loadbob.py",
        f"import os\npiece = bytes(set(range(256)) - {{10}}) * 257\nleft = {size}\n"
        "while left:\n    left -= os.write(1, piece[:left])\n",
        interpreter=sys.executable,
    )
    running = flow.start("loadbob.py", stdout=subprocess.DEVNULL)
    peak = 0
    while running.poll() is None:
        peak = max(peak, peak_memory(running.pid))
        time.sleep(0.02)
    assert finish(running)[0] == 0
    [log] = (flow.path / ".dataflow/logs").iterdir()
    assert log.stat().st_size == size
    piece = bytes(set(range(256)) - {10}) * 257
    assert digest(log) == hashlib.sha256((piece * (size // len(piece) + 1))[:size]).hexdigest()
    assert 0 < peak < 100_000_000


def peak_memory(pid: int) -> int:
    """The most memory a process has had, in bytes; 0 when it is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmHWM")), 0)


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@pytest.mark.parametrize(
    "text", [b"caf\xe9 \xff\xfe\x00 end", b"\x1b[31mred\x1b[0m", b"\r\n\r\n", b"\xf0\x9f\x98"]
)
def test_bytes_of_any_kind_pass_through_unchanged(sqlite_flow: Flow, text: bytes) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    (flow.path / "text").write_bytes(text)
    flow.script("loadbob.sh", "cat text; exit 3")
    done = flow.project.run("RunJob", "loadbob.sh", env=flow.env, check=False)
    assert done.returncode == 3
    [log] = (flow.path / ".dataflow/logs").iterdir()
    assert log.read_bytes() == text


SKEWED = """
import sys, time
offset, real = float(sys.argv.pop(1)), time.time
time.time = lambda: real() + offset
time.time_ns = lambda: int((real() + offset) * 1e9)
from dataflow.cli.runjob import main
sys.exit(main())
"""


@pytest.mark.parametrize("offset", [3600, -3600])
def test_a_worker_whose_clock_is_an_hour_off_takes_no_leases_and_keeps_none(flow: Flow, offset: int) -> None:
    flow.declare()
    flow.ready("bobin", "1", "2")
    flow.script(
        "loadbob.sh", 'echo "$dataid" >> ran; echo $$ > "pid.$dataid"; until test -e go; do sleep 0.01; done'
    )
    (flow.path / "skewed.py").write_text(SKEWED)
    lease = ("--lease", "15s", "--grace", "1s")
    skewed = (sys.executable, "skewed.py", str(offset), *lease)
    right = flow.start(*lease, "loadbob.sh")
    flow.wait_for_pid("pid.1")
    wrong = flow.project.start(*skewed, "loadbob.sh", env=flow.env, stderr=subprocess.PIPE)
    flow.started.append(wrong)
    flow.wait_for_pid("pid.2")
    # Both renew, and neither sees the other's lease as lapsed.
    first = leases(flow)
    wait_until(lambda: all(now > then for now, then in zip(leases(flow), first, strict=True)))
    third = flow.project.run(*skewed, "loadbob.sh", env=flow.env)
    assert "RUNNING" in third.stderr
    assert flow.outcomes() == ["RUNNING", "RUNNING"]
    (flow.path / "go").touch()
    assert [finish(right)[0], finish(wrong)[0]] == [0, 0]
    assert flow.outcomes() == ["DONE", "DONE"]
    assert flow.lines() == ["1", "2"]
    if flow.is_postgres:
        now = datetime.now(UTC)
        for run in flow.runs():
            started_at = datetime.fromisoformat(str(run.started_at))
            assert abs((now - started_at).total_seconds()) < 120


def leases(flow: Flow) -> list[float]:
    """Until when each run's lease is good, on the store's own clock."""
    return [row[0] for row in flow.select("SELECT lease_until FROM run ORDER BY run_id")]


def test_the_job_may_change_during_a_drain(flow: Flow) -> None:
    """A new revision of the job is taken up between two chunks; nothing is skipped or repeated."""
    flow.declare()
    flow.ready("bobin", *map(str, range(20)))
    flow.script(
        "loadbob.sh",
        'echo "$dataid" >> ran; echo "$colour" >> colours; until test -e go; do sleep 0.01; done',
    )
    draining = flow.start("--drain", "loadbob.sh")
    wait_until(flow.lines)
    flow.declare(ONE_JOB + '[job.loadbob.environment]\ncolour = "blue"\n')
    (flow.path / "go").touch()
    assert finish(draining)[0] == 0
    assert flow.lines() == [str(number) for number in range(20)]
    assert flow.lines("colours") == ["", *["blue"] * 19]


def test_a_claim_that_cannot_succeed_does_not_take_a_finished_chunk_with_it(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1", "2", "3")
    flow.script("loadbob.sh")
    with flow.store() as store:
        if isinstance(store.database, PostgresDatabase):
            connection = store.database._connected()
            connection.execute(
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
                "$$BEGIN RAISE 'no such letter'; END$$"
            )
            connection.execute(
                "CREATE TRIGGER refuse BEFORE INSERT ON run FOR EACH ROW WHEN (new.dataid = '3') "
                "EXECUTE FUNCTION refuse()"
            )
        else:
            assert isinstance(store.database, SqliteDatabase)
            store.database._connection.execute(
                "CREATE TRIGGER refuse BEFORE INSERT ON run WHEN new.dataid = '3' "
                "BEGIN SELECT RAISE(ABORT, 'no such letter'); END"
            )
    done = flow.runjob("--drain", "--lease", "4s", "--grace", "0.5s", "loadbob.sh", code=74)
    assert flow.states() == {"1": "DONE", "2": "DONE", "3": "CLAIMABLE"}
    assert sorted(flow.lines()) == ["1", "2"]
    assert "retrying" not in done.stderr
