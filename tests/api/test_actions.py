"""Actions do what the commands do, in the name of who sent them, and answer for each item."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.api.served import Served


def wait_for_run(served: Served) -> int:
    while not (found := served.get("/runs", outcome="RUNNING")):
        time.sleep(0.02)
    return int(found[0]["run_id"])


def state_of(served: Served, dataid: str) -> str:
    found = served.get("/datasets/bobout/chunks", **{"from": dataid, "to": dataid})
    return str(found[0]["status"]) if found else ""


def newest(served: Served, **where: Any) -> dict[str, Any]:
    found: dict[str, Any] = served.get("/journal", limit=1, **where)[0]
    return found


@pytest.fixture
def failed(served: Served) -> Served:
    """Both chunks have failed."""
    served.flow.script("loadbob.sh", "exit 3")
    served.flow.runjob("--drain", "./loadbob.sh", code=None)
    return served


def test_an_action_is_journalled_with_its_reason_and_who_sent_it(failed: Served) -> None:
    found = failed.post("/jobs/loadbob/resubmit", dataids=["1.0"], why="the file was late")
    assert found["changed"] == 1
    line = newest(failed, job="loadbob", dataid="1.0")
    assert (line["action"], line["why"]) == ("resubmit", "the file was late")
    assert line["actor"] == failed.flow.json("journal", "--limit", "1")[0]["actor"]
    assert "@" in line["actor"]


def test_each_named_dataid_is_done_or_refused_by_itself(failed: Served) -> None:
    found = failed.post("/jobs/loadbob/resubmit", dataids=["1.0", "none", "2.0", "a..b"])
    results = {item["dataid"]: (item["result"], item["code"]) for item in found["items"]}
    assert results == {
        "1.0": ("done", ""),
        "none": ("refused", "unknown-name"),
        "2.0": ("done", ""),
        "a..b": ("refused", "bad-input"),
    }
    assert (found["selected"], found["changed"]) == (2, 2)
    assert "has no work none" in found["items"][1]["message"]


def test_running_work_is_refused_and_the_rest_is_done(failed: Served) -> None:
    failed.post("/jobs/loadbob/resubmit", dataids=["1.0"])
    failed.flow.script("loadbob.sh", "sleep 60")
    failed.flow.start("./loadbob.sh")
    run = wait_for_run(failed)
    found = failed.post("/jobs/loadbob/resubmit", dataids=["1.0", "2.0"])
    assert [item["result"] for item in found["items"]] == ["refused", "done"]
    assert found["items"][0]["code"] == "conflict"
    assert failed.post(f"/runs/{run}/cancel", why="stop")["dataid"] == "1.0"
    assert failed.send(f"/runs/{run}/cancel").status_code == 409


def test_a_preview_changes_nothing_and_a_surprise_is_refused(failed: Served) -> None:
    shown = failed.post("/jobs/loadbob/resubmit", state="FAILED", preview=True)
    assert shown == {
        **{"preview": True, "selected": 2, "changed": 0},
        **{"sample": ["1.0", "2.0"], "items": []},
    }
    assert state_of(failed, "1.0") == "FAILED"
    refused = failed.send("/jobs/loadbob/resubmit", state="FAILED", expect=5)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert state_of(failed, "1.0") == "FAILED"
    assert failed.post("/jobs/loadbob/resubmit", state="FAILED", expect=2)["changed"] == 2
    assert state_of(failed, "1.0") == "RESUBMIT"


def test_a_range_is_selected_as_a_whole(served: Served) -> None:
    found = served.post("/jobs/loadbob/hold", from_="1.0", to="1.0")
    assert (found["selected"], found["changed"]) == (1, 1)
    assert state_of(served, "1.0") == "HOLD"
    assert served.post("/jobs/loadbob/release", from_="1.0", to="2.0")["changed"] == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"dataids": ["1.0"], "state": "FAILED"},
        {"dataids": ["1.0"], "from": "1.0", "to": "2.0"},
        {"from": "1.0"},
        {"dataids": []},
        {"dataids": ["1.0"] * 1001},
        {"dataids": [1]},
        {"dataids": "1.0"},
        {"state": "DONE"},
        {"state": "FAILED", "wyh": "typo"},
        {"state": "FAILED", "why": "a\u0000b"},
        {"state": "FAILED", "preview": "yes"},
        {"state": "FAILED", "expect": True},
        [],
        "text",
        None,
    ],
)
def test_a_wrong_body_changes_nothing(sqlite_served: Served, body: Any) -> None:
    response = sqlite_served.client.post("/api/v1/jobs/loadbob/resubmit", json=body)
    assert (response.status_code, response.json()["code"]) == (422, "bad-input"), response.text


def test_a_body_that_is_too_long_or_not_json_is_refused(sqlite_served: Served) -> None:
    path = "/api/v1/jobs/loadbob/resubmit"
    client, json_type = sqlite_served.client, {"Content-Type": "application/json"}
    assert client.post(path, content=b"x" * (1 << 21), headers=json_type).status_code == 413
    assert client.post(path, content=b'{"state":"FAILED"}').status_code == 415
    assert client.post(path, data={"state": "FAILED"}).status_code == 415
    for text in (b"{", b"[" * 100_000, b"\xff", b'{"why": "\\ud800"}'):
        assert client.post(path, content=text, headers=json_type).status_code == 422, text[:10]
    refused = client.get(path)
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


def test_a_repeat_with_the_same_key_gets_the_first_answer_and_does_nothing(failed: Served) -> None:
    first = failed.post("/jobs/loadbob/resubmit", key="k1", state="FAILED")
    assert first["changed"] == 2
    failed.flow.runjob("--drain", "./loadbob.sh", code=None)
    assert state_of(failed, "1.0") == "FAILED"
    assert failed.post("/jobs/loadbob/resubmit", key="k1", state="FAILED") == first
    assert state_of(failed, "1.0") == "FAILED", "not done again"
    other = failed.send("/jobs/loadbob/resubmit", key="k1", state="INVALID")
    assert (other.status_code, other.json()["code"]) == (409, "conflict")
    assert failed.post("/jobs/loadbob/resubmit", key="k2", state="FAILED")["changed"] == 2


@pytest.mark.parametrize("key", ["", "a b", "\u00e9", "k" * 256])
def test_a_bad_key_is_refused(sqlite_served: Served, key: str) -> None:
    headers = {"Idempotency-Key": key.encode()}
    response = sqlite_served.client.post("/api/v1/jobs/loadbob/hold", json={}, headers=headers)  # type: ignore[arg-type]
    assert (response.status_code, response.json()["code"]) == (422, "bad-input")


def test_a_refused_request_does_not_use_up_its_key(failed: Served) -> None:
    assert failed.send("/jobs/loadbob/resubmit", key="k", state="FAILED", expect=7).status_code == 409
    assert failed.post("/jobs/loadbob/resubmit", key="k", state="FAILED", expect=2)["changed"] == 2


def test_chunks_are_made_ready_withdrawn_and_previewed(served: Served) -> None:
    assert served.post("/datasets/bobin/ready", from_="1", to="3", preview=True)["selected"] == 3
    found = served.post("/datasets/bobin/ready", from_="1", to="3", why="loaded")
    assert (found["selected"], found["changed"], found["sample"]) == (3, 3, ["1", "2", "3"])
    assert newest(served, dataset="bobin")["why"] == "loaded"
    assert served.post("/datasets/bobin/ready", dataids=["1"])["changed"] == 0
    assert served.post("/datasets/bobin/ready", dataids=["1"], again=True)["changed"] == 1
    assert served.post("/datasets/bobin/withdraw", dataids=["1", "2"], why="bad")["changed"] == 2
    refused = served.send("/datasets/bobin/ready", from_="1", to="1000001")
    assert refused.status_code == 422
    assert "1,000,000" in refused.text


def test_an_invalidation_is_previewed_and_then_applied(served: Served) -> None:
    served.flow.script("loadbob.sh", "echo $dataid")
    served.flow.runjob("--drain", "./loadbob.sh")
    shown = served.post("/datasets/bobin/invalidate", dataids=["1.0"], preview=True)
    assert served.flow.json("invalidate", "bobin", "1.0", "--dry-run") == {
        name: shown[name]
        for name in ("dataset", "dataids", "affected", "running", "done_without_output", "jobs")
    }
    assert shown["counts"] == {"dataids": 1, "affected": 2, "running": 0, "done_without_output": 0}
    assert state_of(served, "1.0") == "READY"
    assert served.send("/datasets/bobin/invalidate", dataids=["1.0"], expect=3).status_code == 409
    done = served.post("/datasets/bobin/invalidate", dataids=["1.0"], expect=2, why="wrong currency")
    assert done["changed"] == 1
    assert state_of(served, "1.0") != "READY"
    assert newest(served, dataset="bobin")["why"] == "wrong currency"


def test_jobs_are_paused_scaled_held_and_marked(served: Served) -> None:
    assert served.post("/jobs/loadbob/pause", why="night") == {"job": "loadbob", "changed": True}
    assert served.post("/jobs/loadbob/pause")["changed"] is False
    assert served.get("/jobs/loadbob")["hold"] is True
    assert served.post("/jobs/loadbob/resume")["changed"] is True
    assert served.post("/jobs/loadbob/scale", max_running=3)["before"] == 0
    assert served.get("/jobs/loadbob")["max_running"] == 3
    assert served.post("/jobs/loadbob/hold", preview=True)["selected"] is None
    assert served.post("/jobs/loadbob/hold")["changed"] == 1
    assert served.post("/jobs/loadbob/release")["changed"] == 1
    assert served.post("/jobs/loadbob/mark", dataid="1.0", status="READY")["before"] == "CLAIMABLE"
    assert state_of(served, "1.0") == "READY"
    assert served.post("/pause", why="all")["changed"] is True
    assert served.get("/status")["paused"]["why"] == "all"
    assert served.post("/resume")["changed"] is True


def test_a_stale_result_is_accepted_and_an_incident_acknowledged(failed: Served) -> None:
    found = failed.get("/incidents")
    assert found == failed.flow.json("incidents")
    assert failed.post(f"/incidents/{found[0]['id']}/ack", why="known") == {"id": found[0]["id"]}
    assert failed.get("/incidents")[0]["acknowledged_why"] == "known"
    assert failed.send("/incidents/999/ack").status_code == 404
    assert failed.post("/jobs/loadbob/accept", dataids=["1.0"])["changed"] == 0
    assert failed.get("/workers") == failed.flow.json("workers") == []
    assert failed.get("/pools") == failed.flow.json("pool", "list") == []


def test_a_chunk_is_rolled_back_to_its_previous_version(served: Served) -> None:
    served.flow.dataflow("dataset", "add", "made", "--location", "out/{dataid}/{run_id}")
    served.flow.dataflow("job", "add", "make", "--in", "bobin", "--out", "made")
    served.flow.script("make.sh", 'mkdir -p "$(dirname "$made_location")"; echo $dataid > "$made_location"')
    served.flow.runjob("./make.sh")
    served.post("/jobs/make/resubmit", dataids=["1.0"])
    served.flow.runjob("./make.sh")
    assert [one["version"] for one in served.get("/datasets/made/versions", dataid="1.0")] == [1, 2]
    done = served.post("/datasets/made/rollback", dataid="1.0", why="worse")
    assert done == {"version": 1, "as_version": 3, "job": "make", "work_state": "DONE"}
    assert served.get("/datasets/made/versions", dataid="1.0") == served.flow.json("versions", "made", "1.0")
