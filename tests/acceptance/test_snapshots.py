"""A snapshot table that is overwritten in place: an older dataid never replaces a newer one."""

from __future__ import annotations

from tests.acceptance.flow import Flow, finish

TABLE = """
[dataset.days]
grain = "daily"
[dataset.table]
grain = "daily"
mode = "snapshot"
location = "table.txt"
[job.load]
in = ["days"]
out = ["table"]
"""


def test_a_newer_snapshot_waits_until_the_older_one_is_written(flow: Flow) -> None:
    flow.declare(TABLE, keep=True)
    flow.ready("days", "2026-08-01")
    flow.script(
        "load.sh",
        'echo yes > "began-$dataid"; while test -e hold; do sleep 0.05; done; echo "$dataid" > table.txt',
    )
    (flow.path / "hold").touch()
    slow = flow.start("./load.sh")
    flow.wait_for_file("began-2026-08-01")
    flow.ready("days", "2026-08-02")
    quick = flow.script("quick.sh", 'echo "$dataid" > table.txt')
    flow.runjob("--job", "load", str(quick))
    assert flow.states("load") == {"2026-08-01": "RUNNING", "2026-08-02": "CLAIMABLE"}
    (flow.path / "hold").unlink()
    assert finish(slow)[0] == 0
    flow.runjob("--job", "load", str(quick))
    assert flow.states("load") == {"2026-08-01": "DONE", "2026-08-02": "DONE"}
    assert (flow.path / "table.txt").read_text() == "2026-08-02\n"


def test_a_snapshot_that_has_been_overwritten_is_not_called_right(flow: Flow) -> None:
    flow.declare(TABLE + '[dataset.report]\ngrain = "daily"\n[job.tell]\nin = ["table"]\nout = ["report"]\n')
    flow.ready("days", "2026-08-01", "2026-08-02")
    flow.script("load.sh", 'echo "$dataid" > table.txt')
    flow.runjob("--drain", "./load.sh")
    told = {answer["question"]: answer for answer in flow.json("why", "tell", "2026-08-01")["answers"]}
    assert told["right"]["answer"] == "not checked"
    assert "table/2026-08-01 has been overwritten by table/2026-08-02" in told["right"]["evidence"]
