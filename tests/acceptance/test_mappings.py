"""Jobs that read several chunks, through the real commands: what scripts receive and what people read."""

from __future__ import annotations

import json
import os

import pytest

from tests.acceptance.flow import Flow

HOURS_TO_DAYS = """
[dataset.orders]
grain = "hourly"
timezone = "Europe/Berlin"
location = "in/{dataid}.csv"
[dataset.totals]
grain = "daily"
timezone = "Europe/Berlin"
[job.total]
in = ["orders:within at_least 22"]
out = ["totals"]
"""
DUMP = 'env -0 > "$dataid.env"; cp "$DATAFLOW_CONTEXT" "$dataid.json"; echo "$dataid" >> ran'


def hours(day: str, offset: str = "+01:00") -> list[str]:
    return [f"{day}T{hour:02d}{offset}" for hour in range(24)]


def put(flow: Flow, *dataids: str) -> None:
    """Create the files of some hours and mark them as ready."""
    (flow.path / "in").mkdir(exist_ok=True)
    for dataid in dataids:
        (flow.path / "in" / f"{dataid}.csv").write_text(dataid)
    flow.dataflow("ready", "orders", *dataids)


def variables(flow: Flow, dataid: str) -> dict[str, str]:
    items = (flow.path / f"{dataid}.env").read_bytes().rstrip(b"\0").split(b"\0")
    return {
        os.fsdecode(name): os.fsdecode(value) for name, _, value in (item.partition(b"=") for item in items)
    }


def test_a_script_receives_the_dataids_it_has_and_those_that_are_missing(flow: Flow) -> None:
    flow.declare(HOURS_TO_DAYS)
    flow.script("total.sh", DUMP)
    day = "2026-03-01"
    there = hours(day)[:10] + hours(day)[12:]
    put(flow, *there)
    flow.runjob("./total.sh")
    found = variables(flow, day)
    assert found["orders_dataids"] == " ".join(there)
    assert found["orders_missing"] == " ".join(hours(day)[10:12])
    assert (found["orders_grain"], found["orders_timezone"]) == ("hourly", "Europe/Berlin")
    assert not {"orders_location", "orders_dataid", "orders_version"} & found.keys()
    context = json.loads((flow.path / f"{day}.json").read_text())
    assert [item["dataid"] for item in context["inputs"]] == there
    assert context["inputs"][0]["location"] == str(flow.path / "in" / f"{there[0]}.csv")
    assert [item["dataid"] for item in context["missing"]] == hours(day)[10:12]


def test_a_partial_chunk_says_so_until_the_late_piece_has_been_read(flow: Flow) -> None:
    flow.declare(HOURS_TO_DAYS)
    flow.script("total.sh", DUMP)
    day = "2026-03-01"
    put(flow, *hours(day)[:22])
    flow.runjob("./total.sh")
    (chunk,) = json.loads(flow.dataflow("chunks", "totals", "--json").stdout)
    assert (chunk["status"], chunk["partial"], chunk["lacked"]) == ("READY", True, 2)
    assert "2 missing" in flow.dataflow("chunks", "totals").stdout
    said = flow.dataflow("why", "total", day).stdout
    assert (
        "partial: made from 22 of 24 chunks of orders, without 2026-03-01T22+01:00, 2026-03-01T23+01:00"
        in said
    )
    put(flow, *hours(day)[22:])
    assert json.loads(flow.dataflow("chunks", "totals", "--json").stdout)[0]["status"] == "STALE"
    flow.runjob("./total.sh")
    (chunk,) = json.loads(flow.dataflow("chunks", "totals", "--json").stdout)
    assert (chunk["status"], chunk["partial"], chunk["version"]) == ("READY", False, 2)
    assert variables(flow, day)["orders_missing"] == ""


def test_a_day_on_which_the_clocks_change_has_23_hours(flow: Flow) -> None:
    flow.declare(HOURS_TO_DAYS.replace(" at_least 22", ""))
    flow.script("total.sh", DUMP)
    flow.dataflow("ready", "orders", "--from", "2026-03-29T00", "--to", "2026-03-29T22")
    said = flow.runjob("./total.sh", code=None).stderr
    assert "22 of 23 chunks of orders are ready; missing: 2026-03-29T23+02:00" in said
    (flow.path / "in").mkdir()
    for chunk in json.loads(flow.dataflow("chunks", "orders", "--json").stdout):
        (flow.path / "in" / f"{chunk['dataid']}.csv").touch()
    put(flow, "2026-03-29T23+02:00")
    flow.runjob("./total.sh")
    assert len(variables(flow, "2026-03-29")["orders_dataids"].split()) == 23


def test_one_impossible_input_blocks_only_its_own_work(flow: Flow) -> None:
    flow.declare(HOURS_TO_DAYS)
    flow.script("total.sh", DUMP)
    for day in ("2026-03-01", "2026-03-02", "2026-03-03"):
        put(flow, *hours(day))
    os.remove(flow.path / "in" / "2026-03-01T05+01:00.csv")  # marked as ready, but not there
    flow.dataflow("withdraw", "orders", *hours("2026-03-02")[:3])
    flow.runjob("--drain", "./total.sh", code=None)
    assert (flow.path / "ran").read_text().split() == ["2026-03-03"]
    assert "is not at" in flow.dataflow("why", "total", "2026-03-01").stdout
    assert "21 of 24 chunks" in flow.dataflow("why", "total", "2026-03-02").stdout


def test_after_the_deadline_the_work_is_done_with_what_there_is(flow: Flow) -> None:
    flow.declare(HOURS_TO_DAYS.replace("at_least 22", "by 06:00 then partial"))
    flow.script("total.sh", DUMP)
    flow.dataflow("ready", "orders", "2999-01-01T00")
    said = flow.dataflow("why", "total", "2999-01-01").stdout
    assert "1 of 24 chunks of orders is ready" in said
    assert "after 2999-01-02T05:00:00.000Z the chunks there are will do" in said
    put(flow, *hours("2026-03-01")[:2])
    said = flow.dataflow("why", "total", "2026-03-01").stdout
    assert "the deadline has passed, and the next claim takes those there are" in said
    flow.runjob("--drain", "./total.sh")
    assert (flow.path / "ran").read_text().split() == ["2026-03-01"]
    assert len(variables(flow, "2026-03-01")["orders_missing"].split()) == 22


def test_a_window_an_own_output_and_all_are_named_apart(flow: Flow) -> None:
    flow.declare(
        """
        [dataset.sales]
        grain = "daily"
        [dataset.rules]
        [dataset.sums]
        grain = "daily"
        [job.add]
        in = ["sales", "sales:window(-1, 0)", "sums:window(-2, -1)", "rules:all"]
        out = ["sums"]
        start = "2026-03-01"
        """
    )
    flow.script("add.sh", DUMP)
    flow.dataflow("ready", "rules", "b", "a")
    flow.dataflow("ready", "sales", "--from", "2026-03-01", "--to", "2026-03-03")
    flow.runjob("--drain", "./add.sh")
    found = variables(flow, "2026-03-03")
    assert found["sales_dataid"] == "2026-03-03"
    assert found["sales_window_dataids"] == "2026-03-02 2026-03-03"
    assert found["sums_window_dataids"] == "2026-03-01 2026-03-02"
    assert (found["sums_dataid"], found["rules_dataids"]) == ("2026-03-03", "a b")
    assert variables(flow, "2026-03-01")["sums_window_dataids"] == ""


def test_a_list_too_long_for_a_variable_is_only_in_the_context_file(flow: Flow) -> None:
    flow.declare(
        """
        [dataset.ticks]
        grain = "hourly"
        [dataset.years]
        grain = "yearly"
        [job.sum]
        in = ["ticks:within"]
        out = ["years"]
        """
    )
    flow.script("sum.sh", DUMP)
    flow.dataflow("ready", "ticks", "--from", "2024-01-01T00", "--to", "2024-12-31T23")
    flow.runjob("./sum.sh")
    found = variables(flow, "2024")
    assert "ticks_dataids" not in found
    assert found["ticks_missing"] == ""
    assert len(json.loads((flow.path / "2024.json").read_text())["inputs"]) == 8784


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            ("--in", "weeks:within", "--out", "months"),
            "Use the mapping latest, all, or an explicit list: pairs",
        ),
        (("--in", "names:within", "--out", "months"), "needs a finer input that nests"),
        (("--in", "orders:within", "--out", "months"), "Give both the same --timezone"),
        (("--in", "orders:within"), "does not say what its own dataids are"),
        (("--in", "orders:within at_least 26", "--out", "totals"), "there are never more than 25 chunks"),
        (("--in", "orders:within at_least 0", "--out", "totals"), "from 1"),
        (("--in", "orders at_least 3", "--out", "totals"), "orders at_least 3"),
        (
            (
                "--in",
                "totals:same at_least 1",
            ),
            "needs one chunk at most",
        ),
        (
            (
                "--in",
                "totals:window(0, -6)",
            ),
            "Swap the bounds",
        ),
        (
            (
                "--in",
                "totals:window(-6, 0) at_least 8",
            ),
            "never more than 7 chunks",
        ),
        (("--in", "names:pairs by 06:00 then partial", "--out", "texts"), "its work has no end"),
        (("--in", "orders:within by 6 then partial", "--out", "totals"), "is not a completeness rule"),
        (
            (
                "--in",
                "names:all",
            ),
            "creates no work",
        ),
        (("--in", "names:all by 06:00 then partial", "--in", "totals"), "has no deadline"),
    ],
)
def test_an_input_that_cannot_work_is_refused_and_nothing_is_changed(
    flow: Flow, words: tuple[str, ...], reason: str
) -> None:
    others = ("[dataset.weeks]", 'grain = "weekly"', "[dataset.months]", 'grain = "monthly"')
    flow.declare("\n".join([HOURS_TO_DAYS, *others, "[dataset.names]", "[dataset.texts]", ""]))
    before = flow.dataflow("export").stdout
    done = flow.dataflow("job", "add", "bad", *words, check=False)
    assert done.returncode == 65 or (done.returncode == 66 and "at_least 3" in reason), done.stderr
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert flow.dataflow("export").stdout == before


def test_rules_survive_export_and_apply(flow: Flow) -> None:
    flow.declare(HOURS_TO_DAYS.replace("at_least 22", "by 6:00 then partial"))
    text = flow.dataflow("export").stdout
    assert '"orders:within by 06:00 then partial"' in text
    (flow.path / "again.toml").write_text(text)
    flow.dataflow("apply", "again.toml")
    assert flow.dataflow("export").stdout == text
    shown = json.loads(flow.dataflow("job", "show", "total", "--json").stdout)
    assert shown["in"] == ["orders:within by 06:00 then partial"]


PAIRS = """
[dataset.parts]
[dataset.days]
grain = "daily"
[job.join]
in = ["parts:pairs", "days:containing"]
out = ["files"]
[dataset.files]
grain = "hourly"
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2026-03-01T00,p1\n2026-03-01T01\n", 'Line 2: "2026-03-01T01" has 1 column, not 2'),
        ("2026-03-01T00 p1 p2\n", "has 3 columns"),
        ("2026-03-01T00,p1\n\n2026-02-30T00,p1\n", "Line 3:"),
        ("2026-03-01T00,a/b\n", "Line 1:"),
        ("2026-03-01T00,p1\n2026-03-01T00,p3\n", 'Line 2: dataset parts has no chunk "p3"'),
        ('2026-03-01T00,"p1\n', "Line 1:"),
    ],
)
def test_a_wrong_line_of_a_list_is_named_and_the_list_stays(flow: Flow, text: str, reason: str) -> None:
    flow.declare(PAIRS)
    flow.dataflow("ready", "parts", "p1", "p2")
    (flow.path / "good.csv").write_text("2026-03-01T00+00:00,p1\n2026-03-01T00 p2\n2026-03-01T01\tp2\n")
    said = flow.dataflow("job", "pairs", "join", "parts", "good.csv").stderr
    assert "3 pairs loaded, for 2 dataids and 2 chunks of parts" in said
    (flow.path / "bad.csv").write_text(text)
    done = flow.dataflow("job", "pairs", "join", "parts", "bad.csv", check=False)
    assert done.returncode == 65
    assert reason in done.stderr
    assert "Nothing was changed" in done.stderr
    shown = json.loads(flow.dataflow("job", "show", "join", "--json").stdout)
    assert shown["pairs"] == {"parts": 3}


def test_a_list_may_name_chunks_that_are_to_come(flow: Flow) -> None:
    flow.declare(PAIRS)
    flow.dataflow("ready", "parts", "p1")
    (flow.path / "list.csv").write_text("2026-03-01T00,p1\n2026-03-01T00,p2\n")
    flow.dataflow("job", "pairs", "join", "parts", "list.csv", "--new")
    said = flow.dataflow("why", "join", "2026-03-01T00").stdout
    assert "1 of 2 chunks of parts is ready; missing: p2" in said
    done = flow.dataflow("job", "pairs", "join", "days", "list.csv", check=False)
    assert done.returncode == 65
    assert "does not read days:pairs" in done.stderr


def test_the_hours_of_a_day_read_its_one_chunk(flow: Flow) -> None:
    flow.declare(
        """
        [dataset.rates]
        grain = "daily"
        location = "rates/{dataid}"
        [dataset.hours]
        grain = "hourly"
        [job.convert]
        in = ["hours", "rates:containing"]
        """
    )
    flow.script("convert.sh", DUMP)
    (flow.path / "rates").mkdir()
    (flow.path / "rates" / "2026-03-01").touch()
    flow.dataflow("ready", "rates", "2026-03-01")
    flow.dataflow("ready", "hours", "2026-03-01T07")
    flow.runjob("--drain", "./convert.sh")
    found = variables(flow, "2026-03-01T07+00:00")
    assert found["rates_location"] == str(flow.path / "rates" / "2026-03-01")
    assert (found["rates_dataid"], found["rates_dataids"], found["rates_missing"]) == (
        "2026-03-01",
        "2026-03-01",
        "",
    )


def test_the_check_of_an_input_runs_once_however_many_chunks_it_has(flow: Flow) -> None:
    flow.declare(HOURS_TO_DAYS)
    checks = '\n[dataset.orders]\ncheck = "echo checked >> checks"\n'
    (flow.path / "dataflow.toml").write_text(checks)
    flow.script("total.sh", DUMP)
    put(flow, *hours("2026-03-01"))
    flow.runjob("./total.sh")
    assert (flow.path / "checks").read_text().split() == ["checked"]
