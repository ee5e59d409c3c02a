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


def test_an_older_snapshot_that_ends_after_a_newer_one_is_not_published(flow: Flow) -> None:
    flow.declare(TABLE, keep=True)
    flow.ready("days", "2026-08-01")
    flow.script(
        "load.sh",
        'echo "$dataid" > table.txt; echo yes > "began-$dataid"; while test -e hold; do sleep 0.05; done',
    )
    (flow.path / "hold").touch()
    slow = flow.start("./load.sh")
    flow.wait_for_file("began-2026-08-01")
    flow.ready("days", "2026-08-02")
    quick = flow.script("quick.sh", 'echo "$dataid" > table.txt')
    flow.runjob("--job", "load", str(quick))
    (flow.path / "hold").unlink()
    code, _, said = finish(slow)
    assert code == 1
    assert "newer snapshot" in said
    assert flow.states("load") == {"2026-08-01": "FAILED", "2026-08-02": "DONE"}
    assert flow.version("table", "2026-08-02") == 1
