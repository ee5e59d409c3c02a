"""A project with something of everything that the page shows."""

from __future__ import annotations

from tests.acceptance.flow import Flow

SHOP = """
[dataset.orders]
grain = "daily"
[dataset.totals]
grain = "daily"
[dataset.report]
grain = "daily"
[dataset.clicks]
grain = "hourly"
fresh_within = "1h"
[dataset.shards]
grain = "sequence"
fresh_within = "7d"
[dataset.files]
[dataset.loaded]

[job.sum]
in = ["orders"]
out = ["totals"]
[job.report]
in = ["totals"]
out = ["report"]
[job.load]
in = ["files"]
out = ["loaded"]
"""
BAD = "2026-08-03"
SUM = f"""
echo "summing $dataid"
if [ "$dataid" = {BAD} ] && [ ! -e fixed ]; then echo "cannot read orders of $dataid" >&2; exit 3; fi
"""
DAYS = tuple(f"2026-08-{day:02d}" for day in range(1, 8))
HOURS = tuple(f"2026-08-{day:02d}T{hour:02d}:00Z" for day in (1, 2) for hour in range(24))


def open_shop(flow: Flow) -> None:
    """Declare everything, and do a week of work of which one day fails."""
    flow.declare(SHOP, keep=True)
    flow.ready("orders", *DAYS)
    flow.ready("clicks", *HOURS)
    flow.ready("shards", *map(str, range(1, 1001)))
    flow.ready("files", "a.csv", "b.csv")
    flow.script("sum.sh", SUM)
    flow.script("report.sh", "true")
    flow.runjob("--drain", "./sum.sh", code=None)
    flow.runjob("--drain", "./report.sh", code=None)


def fix_and_run(flow: Flow) -> None:
    """Take the cause of the failure away, and run what there is to run."""
    (flow.path / "fixed").touch()
    flow.runjob("./sum.sh")
