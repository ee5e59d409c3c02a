"""`why` explains every work by the facts that decide a claim, and ends with the exact next command."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from dataflow.actions.calendar import add_due_intervals
from dataflow.actions.claim import preview
from dataflow.actions.register import add_dataset, add_job
from dataflow.actions.selection import Selection, count_selected
from dataflow.actions.why import why
from dataflow.config.settings import load_config
from dataflow.errors import BadInput
from dataflow.model.answers import Question, Why
from dataflow.model.record import replace
from dataflow.model.records import Dataset, Job, JobInput
from dataflow.model.status import RunOutcome, WorkState
from tests.store.world import World, make_request


def ask(
    world: World, job: str, dataid: str | None = None, is_dead: Any = None, folder: Path = Path("/")
) -> Why:
    config = load_config(str(folder), {"DATAFLOW_PROJECT": str(folder)})
    return why(world.store, config, world.plan(job), dataid, is_dead)


def answers(found: Why) -> dict[str, str]:
    return {answer.question.value: answer.answer.value for answer in found.answers}


def evidence(found: Why, question: str) -> str:
    return next(answer.evidence for answer in found.answers if answer.question == question)


def test_a_job_without_work_names_the_input_that_would_create_some(world: World) -> None:
    world.chain("raw", "clean")
    found = ask(world, "to_clean")
    assert found.verdict == "PENDING: job to_clean has no work: no chunk of raw is ready"
    assert found.next == "dataflow ready raw DATAID"
    assert [answer.question for answer in found.answers] == list(Question)
    assert answers(found)["ready"] == "no"


def test_a_job_without_work_whose_input_is_produced_names_the_producer(world: World) -> None:
    world.chain("raw", "clean", "sums")
    assert ask(world, "to_sums").next == "dataflow why to_clean"


def test_a_dataid_without_work_says_what_to_make_ready(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    found = ask(world, "to_clean", "7.0")
    assert found.verdict.startswith("PENDING: there is no work to_clean/7.0 yet; input raw/7.0 is not ready")
    assert found.next == "dataflow ready raw 7.0"


def test_an_invalid_dataid_is_refused(world: World) -> None:
    world.chain("raw", "clean", grain="daily")
    with pytest.raises(BadInput, match="calendar date"):
        ask(world, "to_clean", "2026-02-30")


def test_claimable_work_is_what_the_next_run_takes(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0", "2.0")
    found = ask(world, "to_clean")
    assert (found.dataid, found.verdict) == (
        "1.0",
        "PENDING: nothing blocks it, and the next RunJob takes it",
    )
    assert [answers(found)[name] for name in ("ready", "right", "valid", "safe")] == [
        "yes",
        "yes",
        "not checked",
        "yes",
    ]
    assert "raw/1.0 version 1" in evidence(found, "ready")


def test_work_that_is_not_the_first_says_which_comes_first(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0", "2.0")
    world.poke("UPDATE job SET script_path = '/etl/to_clean.sh'")
    found = ask(world, "to_clean", "2.0")
    assert found.verdict == "PENDING: nothing blocks it, but 1.0 comes first"
    assert found.next == "RunJob --dataid 2.0 /etl/to_clean.sh"
    assert ask(world, "to_clean").next == "RunJob /etl/to_clean.sh"


def test_the_job_is_named_when_the_script_has_another_name(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    world.poke("UPDATE job SET script_path = '/etl/my load.sh'")
    assert ask(world, "to_clean").next == "RunJob --job to_clean '/etl/my load.sh'"


def test_a_missing_input_without_a_producer_must_be_made_ready(world: World) -> None:
    world.dataset("left")
    world.dataset("right_side")
    world.job("join", ["left", "right_side"])
    world.ready("left", "1.0")
    found = ask(world, "join")
    assert found.verdict == ("PENDING: input right_side/1.0 is not ready: not marked ready")
    assert found.next == "dataflow ready right_side 1.0"
    assert answers(found)["ready"] == "no"
    assert "right_side/1.0" in evidence(found, "ready")


def test_a_dataid_is_quoted_for_the_shell(world: World) -> None:
    world.chain("raw", "clean")
    assert ask(world, "to_clean", "a b|c").next == "dataflow ready raw 'a b|c'"


def test_a_failed_producer_is_named_with_its_run_and_the_next_command(world: World) -> None:
    world.chain("raw", "clean", "sums")
    world.ready("raw", "1.0")
    run = world.do("to_clean", "1.0", RunOutcome.FAILED, exit_code=3, reason="exited with 3")
    found = ask(world, "to_sums", "1.0")
    assert f"job to_clean FAILED in run {run.run_id} (exited with 3)" in found.verdict
    assert found.next == "dataflow resubmit to_clean 1.0"


def test_a_missing_input_is_followed_back_to_the_first_cause(world: World) -> None:
    world.chain("raw", "clean", "sums", "report")
    found = ask(world, "to_report", "1.0")
    assert found.next == "dataflow ready raw 1.0"
    assert found.verdict == (
        "PENDING: there is no work to_report/1.0 yet; input sums/1.0 is not ready: job to_sums waits for "
        "clean/1.0, and job to_clean waits for raw/1.0, which is not marked ready"
    )
    world.ready("raw", "1.0")
    assert ask(world, "to_report", "1.0").verdict == (
        "PENDING: there is no work to_report/1.0 yet; input sums/1.0 is not ready: job to_sums waits for "
        "clean/1.0, and job to_clean is PENDING (nothing blocks it, and the next RunJob takes it)"
    )


def test_a_producer_at_work_can_be_followed(world: World) -> None:
    world.chain("raw", "clean", "sums")
    world.ready("raw", "1.0")
    run = world.take("to_clean")
    found = ask(world, "to_sums", "1.0")
    assert f"job to_clean is RUNNING (run {run.run_id} on etl1" in found.verdict
    assert found.next == f"dataflow logs {run.run_id} -f"


def test_a_held_producer_must_be_released(world: World) -> None:
    world.chain("raw", "clean", "sums")
    world.ready("raw", "1.0")
    world.hold("to_clean", "1.0")
    found = ask(world, "to_sums", "1.0")
    assert "input clean/1.0 is not ready: to_clean/1.0 is on hold" in found.verdict
    assert found.next == "dataflow release to_clean 1.0"


def test_a_withdrawn_input_must_be_produced_again(world: World) -> None:
    world.chain("raw", "clean", "sums")
    world.ready("raw", "1.0")
    world.do("to_clean")
    world.withdraw("clean", "1.0")
    found = ask(world, "to_sums", "1.0")
    assert "input clean/1.0 is not ready: it was withdrawn" in found.verdict
    assert found.next == "dataflow resubmit to_clean 1.0"


def test_a_lagging_input_names_the_previous_chunk(world: World) -> None:
    world.dataset("days", grain="daily")
    world.dataset("total", grain="daily")
    world.job("cumulate", ["days", "total:previous"], ["total"], start="2026-08-01")
    world.ready("days", "2026-08-01", "2026-08-02")
    assert "takes it" in ask(world, "cumulate", "2026-08-01").verdict
    found = ask(world, "cumulate", "2026-08-02")
    assert "input total/2026-08-01 is not ready: job cumulate is PENDING" in found.verdict


@pytest.mark.parametrize("state", [WorkState.FAILED, WorkState.INVALID])
def test_failed_work_names_a_hold_that_keeps_it_from_being_done_again(world: World, state: WorkState) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    run = world.do("to_clean", "1.0", RunOutcome(state), reason="exited with 3")
    world.hold("to_clean", "1.0")
    found = ask(world, "to_clean", "1.0")
    told = f"{state}: run {run.run_id} on etl1: exited with 3; to_clean/1.0 is on hold (by op@desk: wait)"
    assert found.verdict == told
    assert found.next == "dataflow resubmit to_clean 1.0"
    world.hold("to_clean")
    assert "; job to_clean is on hold (by " in ask(world, "to_clean", "1.0").verdict


def test_a_held_job_and_held_work_are_distinguished(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0", "2.0")
    world.hold("to_clean", "1.0")
    found = ask(world, "to_clean", "1.0")
    assert (found.verdict, found.next) == (
        "HOLD: to_clean/1.0 is on hold (by op@desk: wait)",
        "dataflow release to_clean 1.0",
    )
    assert answers(found)["safe"] == "yes"
    world.hold("to_clean")
    found = ask(world, "to_clean", "2.0")
    assert (found.verdict, found.next) == (
        "HOLD: job to_clean is on hold (by op@desk: wait)",
        "dataflow release to_clean",
    )


def test_a_hold_names_its_last_person_and_reason(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0", "2.0", "3.0")
    plan = world.plan("to_clean")
    world.store.hold(plan, [("1.0", "1.0"), ("2.0", "2.0")], True, "both are late")
    world.store.hold(plan, None, True, "audit")
    world.store.hold(plan, None, False, "audit is over")
    world.store.hold(plan, None, True, "")
    verdict = ask(world, "to_clean", "2.0").verdict
    assert "job to_clean is on hold (by op@desk)" in verdict
    assert "to_clean/2.0 is on hold (by op@desk: both are late)" in verdict
    assert "to_clean/3.0 is on hold" not in ask(world, "to_clean", "3.0").verdict


def test_a_hold_is_reported_even_when_the_job_has_no_work(world: World) -> None:
    world.chain("raw", "clean")
    world.hold("to_clean")
    found = ask(world, "to_clean")
    assert "job to_clean is on hold" in found.verdict
    assert answers(found)["safe"] == "yes"


def test_running_work_shows_its_run_and_lease(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0", "2.0")
    run = world.take("to_clean")
    found = ask(world, "to_clean")
    assert (found.dataid, found.next) == ("1.0", f"dataflow logs {run.run_id} -f")
    assert f"RUNNING: run {run.run_id} on etl1 since" in found.verdict
    assert "of its lease left" in found.verdict


def test_a_lapsed_lease_is_taken_over_by_the_next_run(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    world.take("to_clean")
    world.advance(1000)
    found = ask(world, "to_clean", "1.0")
    assert "its lease has lapsed: the next RunJob takes it over" in found.verdict
    assert found.next.startswith("RunJob")


def test_a_dead_process_on_this_machine_is_seen_before_its_lease_ends(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    run = world.take("to_clean")
    host = load_config("/", {}).host
    world.poke(f"UPDATE run SET host = '{host}' WHERE run_id = {run.run_id}")
    assert "process is gone" in ask(world, "to_clean", "1.0", is_dead=lambda name: name == "first").verdict
    gone = ask(world, "to_clean", "1.0", is_dead=lambda name: name == "first")
    assert evidence(gone, "safe") == "only this work's own run, which is gone"
    assert "process is gone" not in ask(world, "to_clean", "1.0", is_dead=lambda name: False).verdict


def test_work_that_outlives_its_process_is_taken_over_by_a_run_that_can_end_it(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    world.take("to_clean", has_kill_command=True)
    world.advance(1000)
    found = ask(world, "to_clean", "1.0")
    assert "its lease has lapsed: the next RunJob with a --kill-command takes it over" in found.verdict
    assert found.next == "RunJob --job to_clean, followed by a --kill-command and its script"
    world.poke("UPDATE job SET script_path = '/srv/to_clean.sh' WHERE name = 'to_clean'")
    found = ask(world, "to_clean", "1.0")
    assert found.next == "RunJob /srv/to_clean.sh, with a --kill-command before the script"


def test_running_work_without_a_running_run_is_left_to_doctor(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0", "2.0")
    run = world.do("to_clean", "1.0")
    world.poke(f"UPDATE work SET state = 'RUNNING', run_id = {run.run_id} WHERE dataid = '1.0'")
    world.poke("UPDATE work SET state = 'RUNNING', run_id = 77 WHERE dataid = '2.0'")
    for dataid, found in (("1.0", "has ended as DONE"), ("2.0", "is not in the store")):
        assert found in ask(world, "to_clean", dataid).verdict
        assert ask(world, "to_clean", dataid).next == "dataflow doctor"


def test_done_work_says_so_with_the_answers_its_run_recorded(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    stored = [
        {"question": question, "answer": "yes", "evidence": f"because {question}"} for question in Question
    ]
    run = world.do("to_clean", answers=json.dumps(stored))
    found = ask(world, "to_clean")
    assert found.verdict.startswith(f"READY: already done by run {run.run_id} on etl1 at ")
    assert found.verdict.endswith("clean/1.0 is at version 1")
    assert [answer.as_dict() for answer in found.answers] == stored
    assert found.next == ""
    world.withdraw("raw", "1.0")
    found = ask(world, "to_clean")
    stored[0] |= {"answer": "no", "evidence": "raw/1.0 was withdrawn"}
    assert [answer.as_dict() for answer in found.answers] == stored


def test_answers_stored_by_another_version_are_asked_again(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    world.do("to_clean", answers='[{"question": "sane", "answer": "perhaps"}]')
    assert [answer.question for answer in ask(world, "to_clean").answers] == list(Question)


def test_done_work_whose_output_was_withdrawn_is_not_ready(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    world.do("to_clean")
    world.withdraw("clean", "1.0")
    found = ask(world, "to_clean")
    assert found.verdict.startswith("PENDING: done by run")
    assert found.verdict.endswith("but clean/1.0 was withdrawn")


def test_failed_work_says_why_and_how_to_repeat_it(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    run = world.do("to_clean", None, RunOutcome.FAILED, exit_code=9, reason="it broke")
    found = ask(world, "to_clean")
    assert found.verdict == f"FAILED: run {run.run_id} on etl1: it broke, exit code 9"
    assert found.next == "dataflow resubmit to_clean 1.0"


def test_an_invalid_rerun_says_that_the_old_version_is_still_readable(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    world.do("to_clean")
    world.resubmit("to_clean", "1.0")
    world.do("to_clean", None, RunOutcome.INVALID, exit_code=0, reason="the check of clean exited with 1")
    found = ask(world, "to_clean")
    assert found.verdict.startswith("INVALID: ")
    assert "version 1 of clean/1.0 is still readable" in found.verdict


def test_a_retry_says_how_long_it_waits_and_what_failed(world: World) -> None:
    world.chain("raw", "clean", retries=2, retry_delay_seconds=120)
    world.ready("raw", "1.0")
    world.do("to_clean", None, RunOutcome.FAILED, exit_code=1, reason="It exited with 1.")
    found = ask(world, "to_clean")
    assert found.verdict.startswith("PENDING: It exited with 1; the next attempt is in ")
    assert answers(found)["safe"] == "yes"
    world.advance(145)
    told = "PENDING: It exited with 1; nothing blocks it, and the next RunJob takes it"
    assert ask(world, "to_clean").verdict == told


def test_returned_work_says_which_answer_was_no(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    reason = "located? no: raw/1.0 is not at /data/raw"
    world.do("to_clean", None, RunOutcome.RETURNED, reason=reason, delay_seconds=40, untouched=True)
    found = ask(world, "to_clean")
    told = "raw/1.0 was not at /data/raw when last tried"
    assert found.verdict.startswith(f"PENDING: {told}; the next attempt is in ")
    assert (answers(found)["located"], answers(found)["safe"]) == ("no", "yes")


def test_a_check_of_an_input_that_failed_is_reported_under_valid(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    reason = "valid? no: the check of input raw exited with 3"
    world.do("to_clean", None, RunOutcome.RETURNED, reason=reason, delay_seconds=40, untouched=True)
    found = ask(world, "to_clean")
    assert (answers(found)["valid"], answers(found)["safe"]) == ("no", "yes")
    assert evidence(found, "valid").startswith("the check of input raw exited with 3")


def test_an_input_that_is_not_at_its_location_must_be_put_there(world: World, tmp_path: Path) -> None:
    world.dataset("raw", location="raw/{dataid}.csv")
    world.job("load", ["raw"])
    world.ready("raw", "1.0")
    place = tmp_path / "raw" / "1.0.csv"
    reason = f"located? no: raw/1.0 is not at {place}"
    world.do("load", None, RunOutcome.RETURNED, reason=reason, delay_seconds=40, untouched=True)
    found = ask(world, "load", folder=tmp_path)
    assert found.next == f"put raw/1.0 at {place}, or: dataflow dataset add raw --location PLACE"
    place.parent.mkdir()
    place.write_text("x")
    found = ask(world, "load", folder=tmp_path)
    assert (
        f"raw/1.0 was not at {place} when last tried, but is there now; the next attempt is" in found.verdict
    )
    assert found.next == "dataflow resubmit load 1.0"
    assert answers(found)["located"] == "yes"
    world.advance(41)
    told = f"PENDING: raw/1.0 was not at {place} when last tried; nothing blocks it, and"
    assert ask(world, "load", folder=tmp_path).verdict == f"{told} the next RunJob takes it"
    world.do("load", None, RunOutcome.RETURNED, reason=reason, delay_seconds=40, untouched=True)
    world.resubmit("load", "1.0")
    world.do("load")


def test_a_produced_input_that_is_not_at_its_location_must_be_produced_again(
    world: World, tmp_path: Path
) -> None:
    world.chain("raw", "clean", "sums")
    world.ready("raw", "1.0")
    world.do("to_clean")
    reason = "located? no: clean/1.0 is not at /data/clean/1"
    world.do("to_sums", None, RunOutcome.RETURNED, reason=reason, delay_seconds=40, untouched=True)
    assert ask(world, "to_sums", folder=tmp_path).next == "dataflow resubmit to_clean 1.0"


def test_a_staged_chunk_published_without_a_location_is_not_searched_for(
    world: World, tmp_path: Path
) -> None:
    world.dataset("raw", location="raw/{run_id}")
    world.job("load", ["raw"])
    world.ready("raw", "1.0")
    found = ask(world, "load", folder=tmp_path)
    assert answers(found)["located"] == "no"
    assert evidence(found, "located") == "raw/1.0 was published without a location"


def test_a_limit_does_not_affect_safety(world: World) -> None:
    world.chain("raw", "clean", max_running=1)
    world.ready("raw", "1.0", "2.0")
    world.take("to_clean")
    assert answers(ask(world, "to_clean", "2.0"))["safe"] == "yes"


def test_a_run_that_may_still_be_ending_is_not_safe(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    world.cancel(world.take("to_clean"))
    world.resubmit("to_clean", "1.0")
    assert answers(ask(world, "to_clean"))["safe"] == "no"


def test_the_first_work_of_a_chain_without_a_start_names_the_start_option(world: World) -> None:
    world.dataset("days", grain="daily")
    world.dataset("total", grain="daily", location="")
    world.job("cumulate", ["days", "total:previous"], ["total"])
    world.ready("days", "2026-08-02", "2026-08-03")
    for dataid in ("2026-08-02", "2026-08-03"):
        found = ask(world, "cumulate", dataid)
        assert "2026-08-02 is not declared to be the first" in found.verdict
        assert found.next == "dataflow job add cumulate --start 2026-08-02"
    world.ready("total", "2026-08-01")
    assert "takes it" in ask(world, "cumulate", "2026-08-02").verdict


def test_snapshots_with_a_location_for_each_dataid_may_come_in_any_order(world: World) -> None:
    world.dataset("raw", grain="sequence")
    world.dataset("table", grain="sequence", location="/data/{dataid}", mode="snapshot")
    world.job("copy", ["raw"], ["table"])
    world.ready("raw", "2")
    world.do("copy")
    world.ready("raw", "1")
    assert "newer snapshot" not in ask(world, "copy", "1").verdict


def test_a_resubmit_after_a_cancel_waits_for_the_revoked_lease(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    run = world.take("to_clean")
    world.cancel(run)
    assert ask(world, "to_clean").verdict.startswith(
        f"FAILED: run {run.run_id} on etl1: cancelled by op@desk"
    )
    world.resubmit("to_clean", "1.0")
    found = ask(world, "to_clean")
    assert found.verdict.startswith(f"RESUBMIT: run {run.run_id} was cancelled and may still be ending")


def test_resubmitted_work_is_shown_as_resubmit(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    world.do("to_clean")
    world.resubmit("to_clean", "1.0")
    assert ask(world, "to_clean").verdict.startswith(
        "RESUBMIT: resubmitted by op@desk: please; nothing blocks"
    )


def test_a_newer_input_makes_the_output_stale(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    world.do("to_clean")
    world.ready("raw", "1.0", again=True)
    assert ask(world, "to_clean").verdict.startswith(
        "STALE: raw/1.0 has version 2, and it was made from version 1; nothing blocks it"
    )
    assert world.status("clean", "1.0") == "STALE"


def test_failed_work_with_a_stale_input_starts_again_with_the_input(world: World) -> None:
    world.chain("raw", "clean", "sums")
    world.ready("raw", "7")
    world.do("to_clean", "7")
    world.do("to_sums", "7", RunOutcome.FAILED, exit_code=1)
    world.ready("raw", "7", again=True)
    found = ask(world, "to_sums", "7")
    assert found.verdict.startswith("FAILED: ")
    assert "input clean/7 is not ready: it is STALE, and job to_clean will make it again" in found.verdict
    assert found.next == "RunJob --job to_clean, followed by its script"
    world.do("to_clean", "7")
    world.do("to_sums", "7")


def test_work_that_was_interrupted_says_so_and_after_which_it_runs(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "2.0")
    world.do("to_clean", "2.0", RunOutcome.INTERRUPTED, reason="interrupted: SIGTERM")
    world.ready("raw", "1.0")
    told = "PENDING: the last run was interrupted (SIGTERM); it runs after 1.0"
    assert ask(world, "to_clean", "2.0").verdict == told


def test_a_check_that_failed_says_that_the_script_succeeded(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    world.do("to_clean", None, RunOutcome.INVALID, exit_code=0, reason="the check of clean exited with 1")
    found = ask(world, "to_clean")
    assert "the check of clean exited with 1 (the script itself succeeded)" in found.verdict


def test_work_with_a_stale_input_says_how_to_make_the_input_current(world: World) -> None:
    world.chain("raw", "clean", "sums")
    world.ready("raw", "7")
    world.do("to_clean", "7")
    world.do("to_sums", "7")
    assert ask(world, "to_sums", "7").next == ""
    world.ready("raw", "7", again=True)
    found = ask(world, "to_sums", "7")
    told = "STALE: input clean/7 is not ready: it is STALE, and job to_clean will make it again"
    assert found.verdict.startswith(told)
    assert answers(found)["ready"] == "no"
    assert found.next == ask(world, "to_clean", "7").next == "RunJob --job to_clean, followed by its script"
    world.do("to_clean", "7")
    assert ask(world, "to_sums", "7").verdict.startswith("STALE: ")


def test_a_limit_on_running_work_names_the_runs_that_fill_it(world: World) -> None:
    world.chain("raw", "clean", max_running=1)
    world.ready("raw", "1.0", "2.0")
    run = world.take("to_clean")
    found = ask(world, "to_clean", "2.0")
    assert (
        found.verdict
        == f"PENDING: job to_clean may have 1 running at a time; still running or ending: {run.run_id}"
    )
    assert found.next == f"dataflow logs {run.run_id} -f"


def test_an_ordered_job_names_the_work_that_blocks_the_rest(world: World) -> None:
    world.chain("raw", "clean", ordered=True)
    world.ready("raw", "1.0", "2.0")
    world.do("to_clean", "1.0", RunOutcome.FAILED, reason="exited with 1")
    found = ask(world, "to_clean", "2.0")
    assert found.verdict == "PENDING: job to_clean is ordered, and 1.0, which is FAILED, comes first"
    assert found.next == "dataflow resubmit to_clean 1.0"


def test_an_ordered_job_does_not_jump_over_a_gap(world: World) -> None:
    world.chain("raw", "clean", grain="daily", ordered=True)
    world.ready("raw", "2026-08-01")
    world.do("to_clean")
    world.ready("raw", "2026-08-03")
    found = ask(world, "to_clean", "2026-08-03")
    assert "2026-08-02, which comes first, has no work yet" in found.verdict
    assert found.next == "dataflow why to_clean 2026-08-02"


def test_a_reader_of_an_output_written_in_place_is_named(world: World) -> None:
    world.dataset("raw")
    world.dataset("clean", location="/data/clean/{dataid}")
    world.dataset("sums")
    world.job("to_clean", ["raw"], ["clean"])
    world.job("to_sums", ["clean"], ["sums"])
    world.ready("raw", "1.0")
    world.do("to_clean")
    reader = world.take("to_sums")
    world.resubmit("to_clean", "1.0")
    found = ask(world, "to_clean", "1.0")
    assert f"clean/1.0 is being consumed by run {reader.run_id}" in found.verdict
    assert answers(found)["safe"] == "no"


def test_an_older_snapshot_is_not_written_over_a_newer_one(world: World) -> None:
    world.dataset("raw", grain="sequence")
    world.dataset("table", grain="sequence", location="/data/table", mode="snapshot")
    world.job("copy", ["raw"], ["table"])
    world.ready("raw", "2")
    world.do("copy")
    world.ready("raw", "1")
    assert "table already holds the newer snapshot 2" in ask(world, "copy", "1").verdict


def test_a_location_that_exists_and_one_that_does_not(world: World, tmp_path: Path) -> None:
    world.dataset("raw", location="raw/{dataid}.csv")
    world.job("load", ["raw"])
    world.ready("raw", "1.0", "2.0")
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "1.0.csv").write_text("x")
    assert answers(ask(world, "load", "1.0", folder=tmp_path))["located"] == "yes"
    found = ask(world, "load", "2.0", folder=tmp_path)
    assert answers(found)["located"] == "no"
    assert str(tmp_path / "raw" / "2.0.csv") in evidence(found, "located")


def test_explaining_creates_nothing_on_disk(world: World, tmp_path: Path) -> None:
    world.dataset("raw")
    world.dataset("clean", location="out/{dataid}/{run_id}")
    world.job("load", ["raw"], ["clean"])
    world.ready("raw", "1.0")
    before = sorted(tmp_path.iterdir())
    ask(world, "load", folder=tmp_path)
    assert sorted(tmp_path.iterdir()) == before


def test_a_password_that_was_not_decrypted_is_not_called_safe(world: World) -> None:
    world.dataset("raw", encryptedpass="df1.x")
    world.job("load", ["raw"])
    world.ready("raw", "1.0")
    found = ask(world, "load")
    assert answers(found)["safe"] == "not checked"
    assert "password of raw" in evidence(found, "safe")


def test_an_hourly_dataid_is_named_with_its_offset(world: World) -> None:
    world.dataset("hours", grain="hourly")
    world.job("load", ["hours"])
    assert evidence(ask(world, "load", "2026-08-20T05"), "right").endswith(" is an hourly dataid")


def test_a_schedule_says_when_its_next_interval_ends(world: World) -> None:
    add_dataset(world.store, Dataset("out", grain="yearly"))
    add_job(world.store, Job("yearly", (), ("out",), schedule="@yearly", start="2500", catchup=True))
    found = ask(world, "yearly")
    assert found.verdict == (
        "PENDING: job yearly has no work: the next interval of yearly.calendar ends at 2501-01-01T00:00:00Z"
    )
    found = ask(world, "yearly", "2600")
    assert "its interval ends at 2601-01-01T00:00:00Z" in found.verdict
    assert found.next == "wait until 2601-01-01T00:00:00Z"


def test_a_day_outside_the_schedule_says_so_before_anything_else(world: World) -> None:
    add_dataset(world.store, Dataset("raw", grain="daily"))
    add_job(
        world.store, Job("report", (JobInput("raw"),), schedule="@daily", start="2026-08-20", catchup=True)
    )
    found = ask(world, "report", "2026-08-19")
    told = "PENDING: there is no work report/2026-08-19 yet; calendar report.calendar has no interval 2026-"
    assert found.verdict.startswith(told)
    assert found.next.startswith("dataflow force report 2026-08-19")


def test_a_cron_interval_that_has_not_ended_says_until_when_to_wait(world: World) -> None:
    add_job(world.store, Job("tick", (), (), schedule="*/5 * * * *", start="2500-01-01", catchup=True))
    found = ask(world, "tick", "2500-01-01T00:05+00:00")
    assert "its interval ends at 2500-01-01T00:10:00Z" in found.verdict
    assert found.next == "wait until 2500-01-01T00:10:00Z"
    assert "has no interval" in ask(world, "tick", "2500-01-01T00:06+00:00").verdict
    assert "has no interval" in ask(world, "tick", "2499-01-01T00:05+00:00").verdict


def test_every_spelling_of_a_cron_interval_names_the_same_work(world: World) -> None:
    job = Job("tick", (), (), schedule="*/5 * * * *", start="2026-01-05", end="2026-01-05T01", catchup=True)
    add_job(world.store, replace(job, timezone="Europe/Berlin"))
    add_due_intervals(world.store, world.plan("tick"))
    world.do("tick", "2026-01-04T23:00+00:00")
    world.do("tick", "2026-01-04T23:05+00:00")
    for text in ("2026-01-05T00:05", "2026-01-05 00:05", "2026-01-05T00:05+01:00", "2026-01-04T23:05Z"):
        found = ask(world, "tick", text)
        assert found.dataid == "2026-01-04T23:05+00:00"
        assert found.verdict.startswith("READY: already done by run ")
        assert count_selected(world.store, world.plan("tick"), Selection(dataids=(text,))) == 1
    with pytest.raises(BadInput, match=r"occurs twice .* 2026-10-25T00:30\+00:00 or 2026-10-25T01:30\+00:00"):
        ask(world, "tick", "2026-10-25T02:30")


def test_an_interval_that_has_ended_is_what_the_next_run_adds(world: World) -> None:
    add_dataset(world.store, Dataset("out", grain="yearly"))
    add_job(world.store, Job("yearly", (), ("out",), schedule="@yearly", start="2020", catchup=True))
    found = ask(world, "yearly")
    assert (found.dataid, found.verdict) == (
        "2020",
        "PENDING: there is no work yearly/2020 yet; input yearly.calendar/2020 is not ready: "
        "its interval has ended, and the next RunJob adds it",
    )
    assert "its interval has ended" in ask(world, "yearly", "2021").verdict
    found = ask(world, "yearly", "1990")
    assert "calendar yearly.calendar has no interval 1990" in found.verdict
    assert found.next == "dataflow force yearly 1990, followed by -- and its script"
    world.poke("UPDATE job SET script_path = '/srv/yearly report.sh' WHERE name = 'yearly'")
    assert ask(world, "yearly", "1990").next == "dataflow force yearly 1990 -- '/srv/yearly report.sh'"


def test_an_interval_that_ended_after_the_last_run_is_next(world: World) -> None:
    job = Job("yearly", (), (), schedule="@yearly", start="2020", end="2020", catchup=True)
    add_job(world.store, job)
    add_due_intervals(world.store, world.plan("yearly"))
    world.do("yearly", "2020")
    assert ask(world, "yearly").verdict.startswith("READY: already done by run ")
    add_job(world.store, replace(job, end="2022"))
    found = ask(world, "yearly")
    assert (found.dataid, found.next) == ("2021", "RunJob --job yearly, followed by its script")
    assert found.verdict.endswith(": its interval has ended, and the next RunJob adds it")
    add_due_intervals(world.store, world.plan("yearly"))
    assert world.take("yearly").dataid == "2021"


def test_an_ended_interval_that_lacks_another_input_comes_after_one_that_has_all(world: World) -> None:
    add_dataset(world.store, Dataset("raw", grain="yearly"))
    add_job(
        world.store, Job("yearly", (JobInput("raw"),), (), schedule="@yearly", start="2020", catchup=True)
    )
    assert ask(world, "yearly").dataid == "2020"
    world.ready("raw", "2022")
    world.poke("UPDATE job SET script_path = '/etl/yearly.sh'")
    assert (ask(world, "yearly").dataid, ask(world, "yearly").next) == ("2022", "RunJob /etl/yearly.sh")
    world.ready("raw", "1990")  # no interval, so it waits without end
    assert ask(world, "yearly").dataid == "2022"
    add_due_intervals(world.store, world.plan("yearly"))
    assert ask(world, "yearly").dataid == "2022"
    assert world.take("yearly").dataid == "2022"


def test_a_retry_whose_wait_is_over_comes_before_an_ended_interval(world: World) -> None:
    job = Job("yearly", (), (), schedule="@yearly", start="2020", end="2020", catchup=True, retries=1)
    add_job(world.store, replace(job, retry_delay_seconds=60))
    add_due_intervals(world.store, world.plan("yearly"))
    world.do("yearly", "2020", RunOutcome.FAILED, reason="x")
    add_job(world.store, replace(job, retry_delay_seconds=60, end="2022"))
    assert ask(world, "yearly").dataid == "2021"
    world.advance(73)
    assert ask(world, "yearly").dataid == "2020"
    add_due_intervals(world.store, world.plan("yearly"))
    assert world.take("yearly").dataid == "2020"


def test_an_ended_interval_of_an_ordered_job_waits_for_failed_work(world: World) -> None:
    job = Job("yearly", (), (), schedule="@yearly", start="2020", end="2020", catchup=True, ordered=True)
    add_job(world.store, job)
    add_due_intervals(world.store, world.plan("yearly"))
    world.do("yearly", "2020", RunOutcome.FAILED, reason="x")
    add_job(world.store, replace(job, end="2022"))
    found = ask(world, "yearly")
    assert (found.dataid, found.next) == ("2020", "dataflow resubmit yearly 2020")


def test_a_calendar_that_has_ended_continues_when_its_job_gets_a_later_end(world: World) -> None:
    job = Job("yearly", (), (), schedule="@yearly", start="2020", end="2020", catchup=True)
    add_job(world.store, job)
    add_due_intervals(world.store, world.plan("yearly"))
    world.poke("DELETE FROM work_input")
    world.poke("DELETE FROM work")
    found = ask(world, "yearly")
    assert "calendar yearly.calendar has ended" in found.verdict
    assert found.next == "dataflow job add yearly --end DATE"
    add_job(world.store, replace(job, end="2021"))
    assert add_due_intervals(world.store, world.plan("yearly")) == 1


def test_without_a_dataid_running_comes_before_claimable_before_waiting_before_failed(world: World) -> None:
    world.dataset("left")
    world.dataset("right")
    world.job("join", ["left", "right"])
    world.ready("left", "1", "2", "3", "4")
    world.ready("right", "1")
    world.do("join", "1", RunOutcome.FAILED, reason="x")
    assert ask(world, "join").dataid == "2"
    world.ready("right", "3", "4")
    assert ask(world, "join").dataid == "3"
    world.take("join", "3")
    assert ask(world, "join").dataid == "3"
    assert ask(world, "join").verdict.startswith("RUNNING")


def test_work_marked_done_manually_says_by_whom(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    world.mark("to_clean", "1.0", WorkState.DONE)
    verdict = ask(world, "to_clean").verdict
    assert verdict.startswith("READY: already done (marked DONE by op@desk: I know); clean/1.0 is at")


def test_a_wrong_count_of_inputs_is_left_to_doctor(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    world.poke("UPDATE work SET state = 'WAITING', missing = 1")
    assert ask(world, "to_clean").next == "dataflow doctor"


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 6))]
)
def test_why_says_of_any_work_what_a_claim_would_do(world: World, seed: int) -> None:
    """P8: nothing is ever not running without a reason that can be read, and no reason is made up."""
    chance = random.Random(seed)
    world.chain("a", "b", "c", retries=1, retry_delay_seconds=50)
    world.job("limited", ["b"], max_running=1)
    world.dataset("e")
    world.job("ordered", ["a", "c"], ["e"], ordered=True)
    world.pool("warehouse", 2)
    world.job("pooled", ["a"], pool="warehouse", order="newest", max_crashes=2)
    world.job("beside", ["b"], pool="warehouse")
    jobs = ("to_b", "to_c", "limited", "ordered", "pooled", "beside")
    dataids = ("1", "2", "3")
    for _ in range(25):
        _move(world, chance, jobs, dataids)
        for job in jobs:
            for dataid in dataids:
                _compare(world, job, dataid)


def _move(world: World, chance: random.Random, jobs: tuple[str, ...], dataids: tuple[str, ...]) -> None:
    job, dataid = chance.choice(jobs), chance.choice(dataids)
    move = chance.randrange(11)
    if move <= 1:
        world.ready("a", dataid, again=chance.random() < 0.3)
    elif move == 2:
        world.withdraw("a", dataid)
    elif move in (3, 4, 5):
        for run in world.claim(job):
            outcome = chance.choice([RunOutcome.DONE, RunOutcome.DONE, RunOutcome.FAILED, RunOutcome.RUNNING])
            if outcome is not RunOutcome.RUNNING:
                world.finish(run, outcome, reason="chance")
    elif move == 6 and world.state(job, dataid) not in ("", "RUNNING"):
        world.resubmit(job, dataid)
    elif move == 7:
        world.hold(job) if chance.random() < 0.5 else world.release(job)
    elif move == 8:
        world.advance(chance.choice([30, 60, 400]))
    elif move == 9:
        world.pause() if chance.random() < 0.3 else world.resume()
    elif move == 10:
        world.pool("warehouse", chance.randrange(1, 4))


def _compare(world: World, job: str, dataid: str) -> None:
    verdict = ask(world, job, dataid).verdict
    given, _ = preview(world.store, world.plan(job), make_request(dataid=dataid))
    says_taken = "nothing blocks it" in verdict and "is not ready" not in verdict
    if "takes it over" in verdict:
        return  # a lost run's work may have to wait first; the claim that frees it decides
    assert says_taken == bool(given.runs), (job, dataid, verdict, given)


def test_work_before_the_start_of_its_job_says_so(world: World) -> None:
    world.dataset("hours", grain="hourly")
    world.job("sum", ["hours:within"], [], grain="daily", start="2026-08-02")
    world.ready("hours", "2026-08-01T00+00:00")
    found = ask(world, "sum", "2026-08-01")
    assert found.verdict == ("PENDING: there is no work sum/2026-08-01, because job sum starts at 2026-08-02")
    assert found.next == "dataflow job add sum --start 2026-08-01"


HOURS = [f"2026-08-01T{hour:02d}+00:00" for hour in range(24)]


def make_day(world: World, **fields: Any) -> None:
    world.dataset("hours", grain="hourly")
    world.dataset("days", grain="daily")
    world.dataset("reports", grain="daily")
    world.job("sum", ["hours:within"], ["days"], grain="daily", **fields)
    world.job("report", ["days"], ["reports"])


def test_a_stale_day_names_the_hour_that_changed_also_while_it_is_on_hold(world: World) -> None:
    make_day(world)
    world.ready("hours", *HOURS)
    world.do("sum")
    world.ready("hours", HOURS[17], again=True)
    changed = f"hours/{HOURS[17]} has version 2, and it was made from version 1; "
    assert ask(world, "sum").verdict.startswith(f"STALE: {changed}nothing blocks it")
    world.hold("sum")
    assert f"{changed}job sum is on hold" in ask(world, "sum").verdict
    world.release("sum")
    world.pause()
    assert f"{changed}everything is paused" in ask(world, "sum").verdict


def test_a_day_that_is_done_names_the_hours_that_were_withdrawn(world: World) -> None:
    make_day(world, on_change="ignore")
    world.ready("hours", *HOURS)
    run = world.take("sum")
    stored = json.dumps([{"question": "ready", "answer": "yes", "evidence": "24 hours"}])
    world.finish(run, answers=stored)
    assert answers(ask(world, "sum"))["ready"] == "yes"
    world.withdraw("hours", *HOURS[3:8])
    found = ask(world, "sum", "2026-08-01")
    assert answers(found)["ready"] == "no"
    names = [f"hours/{hour} was withdrawn" for hour in HOURS[3:6]]
    assert evidence(found, "ready") == "; ".join([*names, "and 2 more"])


def test_an_input_of_a_job_that_asks_does_not_promise_to_be_made_again(world: World) -> None:
    make_day(world, on_change="ask")
    world.ready("hours", *HOURS)
    world.do("sum")
    world.do("report")
    world.ready("hours", HOURS[17], again=True)
    found = ask(world, "report", "2026-08-01")
    change = f"hours/{HOURS[17]} has version 2, and it was made from version 1"
    assert f"it is STALE, and job sum asks before it makes it again: {change}" in found.verdict
    assert "will make it again" not in found.verdict


def test_what_a_job_with_several_chunks_waits_for_continues_the_sentence(world: World) -> None:
    make_day(world)
    world.ready("hours", *HOURS[22:])
    missing = f"missing: {HOURS[0]}, {HOURS[1]}, {HOURS[2]} and 19 more"
    found = ask(world, "report", "2026-08-01")
    text = f"job sum waits for 24 chunks of hours, of which 2 are ready; {missing}"
    assert found.verdict.endswith(f"input days/2026-08-01 is not ready: {text}")
    world.withdraw("hours", *HOURS[22:])
    world.ready("hours", HOURS[0])
    world.withdraw("hours", HOURS[0])
    found = ask(world, "report", "2026-08-01")
    assert found.verdict.endswith(
        f"; {missing.replace('19', '21')}; hours/{HOURS[0]} is not ready: it was withdrawn"
    )


def test_a_declared_command_that_cannot_be_run_is_named(world: World, tmp_path: Path) -> None:
    (tmp_path / "dataflow.toml").write_text('[job.to_clean]\ncommand = ["./load.sh", "--full"]\n')
    world.chain("raw", "clean")
    world.ready("raw", "1.0")
    script = tmp_path / "load.sh"
    found = ask(world, "to_clean", folder=tmp_path)
    broken = f'PENDING: no worker here can run its command "{script}": '
    assert found.verdict == f"{broken}there is no such file"
    assert found.next == "correct command of [job.to_clean] in dataflow.toml"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o644)
    found = ask(world, "to_clean", folder=tmp_path)
    assert (found.verdict, found.next) == (f"{broken}it is not executable", f"chmod +x {script}")
    script.chmod(0o755)
    found = ask(world, "to_clean", folder=tmp_path)
    assert found.verdict == "PENDING: nothing blocks it, and the next worker or RunJob takes it"
    assert found.next == "RunJob --job to_clean ./load.sh --full"


def test_a_window_that_reaches_back_before_the_first_chunk_suggests_a_start(world: World) -> None:
    world.dataset("days", grain="daily")
    world.job("smooth", ["days:window(-2, 0)"], [], grain="daily")
    world.ready("days", "2026-08-03", "2026-08-04", "2026-08-05", "2026-08-07")
    found = ask(world, "smooth", "2026-08-04")
    assert found.verdict.endswith("; the first chunk of days is 2026-08-03, and job smooth has no --start")
    assert found.next == "dataflow job add smooth --start 2026-08-03"
    assert ask(world, "smooth", "2026-08-07").next == "dataflow ready days 2026-08-06"
    world.job("smooth", ["days:window(-2, 0)"], [], grain="daily", start="2026-08-03")
    assert world.state("smooth", "2026-08-04") == "CLAIMABLE"
