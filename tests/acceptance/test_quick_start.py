"""The original quick start, word for word, through the real commands."""

from __future__ import annotations

from tests.acceptance.flow import Flow


def test_the_quick_start_works_as_first_written(flow: Flow) -> None:
    if flow.is_postgres:
        flow.dataflow("db", "upgrade")
    flow.dataflow("dataset", "add", "bobin")
    flow.dataflow("dataset", "add", "bobout")
    flow.dataflow("job", "add", "loadbob", "--in", "bobin", "--out", "bobout")
    flow.dataflow("ready", "bobin", "1.0")
    flow.script("loadbob.sh", "echo $dataid $bobin_datasetid")

    first = flow.runjob("./loadbob.sh")
    assert first.stdout == "1.0 bobin\n"

    second = flow.runjob("./loadbob.sh")
    assert second.stdout == ""
    assert "READY" in second.stderr
    assert "resubmit" not in second.stderr

    [run] = flow.json("runs")
    wanted = {"job": "loadbob", "dataid": "1.0", "attempt": 1, "outcome": "DONE", "exit_code": 0}
    assert {key: run[key] for key in wanted} == wanted
    assert {"run_id", "host", "started_at", "ended_at"} <= run.keys()

    rows = flow.json("sql", "select * from datastatus")
    seen = {(row["datasetid"], row["jobid"], row["dataid"], row["locktype"], row["status"]) for row in rows}
    assert seen == {("bobin", "", "1.0", "OUT", "READY"), ("bobout", "loadbob", "1.0", "OUT", "READY")}
    assert all(row["modified"] for row in rows)

    flow.dataflow("resubmit", "loadbob", "1.0")
    assert flow.status("bobout") == {"1.0": "RESUBMIT"}
    assert flow.runjob("./loadbob.sh").stdout == "1.0 bobin\n"
    assert flow.version("bobout", "1.0") == 2


def test_the_output_of_the_quick_start_is_readable_without_json(sqlite_flow: Flow) -> None:
    for words in (
        ["dataset", "add", "bobin"],
        ["dataset", "add", "bobout"],
        ["job", "add", "loadbob", "--in", "bobin", "--out", "bobout"],
        ["ready", "bobin", "1.0"],
    ):
        sqlite_flow.dataflow(*words)
    sqlite_flow.script("loadbob.sh", "echo $dataid $bobin_datasetid")
    sqlite_flow.runjob("./loadbob.sh")
    assert "loadbob" in sqlite_flow.dataflow("runs").stdout
    table = sqlite_flow.dataflow("sql", "select * from datastatus").stdout
    assert "datasetid" in table
    assert "READY" in table
    why = sqlite_flow.dataflow("why", "loadbob").stdout
    for question in ("ready", "right", "located", "valid", "safe"):
        assert question in why
