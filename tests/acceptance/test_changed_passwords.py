"""A password that is changed while RunJob drains reaches the runs that are claimed after it."""

from __future__ import annotations

from tests.acceptance.flow import ONE_JOB, Flow, finish, wait_until

KEY = {"PASSKEY": "correct horse battery"}
SCRIPT = """
echo "$dataid ${bobin_password#old-}" | tr a-z A-Z >> trace
test $dataid != 1 || until test -e go; do sleep 0.01; done
"""


def start_draining(flow: Flow) -> None:
    flow.declare()
    flow.dataflow("dataset", "add", "bobin", "--password-stdin", input="old-password", env=KEY)
    flow.ready("bobin", "1", "2")
    flow.script("loadbob.sh", SCRIPT)
    flow.start("--drain", "loadbob.sh", env=KEY)
    wait_until(lambda: flow.lines("trace") == ["1 PASSWORD"])


def test_later_runs_get_the_new_password_and_hide_it(flow: Flow) -> None:
    start_draining(flow)
    flow.script("loadbob.sh", SCRIPT + 'echo "shown: $bobin_password"')
    flow.dataflow("dataset", "add", "bobin", "--password-stdin", input="new-password", env=KEY)
    (flow.path / "go").touch()
    code, shown, error = finish(flow.started[0])
    assert code == 0, error
    assert flow.lines("trace") == ["1 PASSWORD", "2 NEW-PASSWORD"]
    assert "new-password" not in shown


def test_the_password_of_an_input_added_meanwhile_is_passed_on_and_recorded(flow: Flow) -> None:
    start_draining(flow)
    flow.dataflow("dataset", "add", "more", "--password-stdin", input="more-password", env=KEY)
    flow.ready("more", "1", "2")
    flow.declare(ONE_JOB.replace('["bobin"]', '["bobin", "more"]') + "[dataset.more]\n")
    flow.script("loadbob.sh", SCRIPT + 'echo "$more_password" | tr a-z A-Z >> more')
    (flow.path / "go").touch()
    assert finish(flow.started[0])[0] == 0
    assert flow.lines("more")[-1] == "MORE-PASSWORD"
    whys = flow.select("SELECT why FROM journal WHERE action = 'claim' ORDER BY journal_id")
    assert whys[-1] == ("received the credentials of bobin, more",)


def test_a_password_that_does_not_decrypt_ends_the_drain_and_the_work_waits(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    start_draining(flow)
    env = {"PASSKEY": "another passphrase altogether"}
    flow.dataflow("dataset", "add", "bobin", "--password-stdin", input="new-password", env=env)
    (flow.path / "go").touch()
    code, _, error = finish(flow.started[0])
    assert code == 77, error
    assert flow.states() == {"1": "DONE", "2": "WAITING"}


def test_the_check_of_an_earlier_run_hides_the_old_password(flow: Flow) -> None:
    flow.declare()
    (flow.path / "dataflow.toml").write_text('[dataset.bobout]\ncheck = ["./check.sh"]\n')
    flow.dataflow("dataset", "add", "bobin", "--password-stdin", input="old-password", env=KEY)
    flow.ready("bobin", "1", "2", "3")
    flow.script("check.sh", 'echo "checked with $bobin_password"')
    flow.script("loadbob.sh", "echo > began-$dataid; until test -e go-$dataid; do sleep 0.01; done")
    draining = flow.start("--drain", "-j", "2", "loadbob.sh", env=KEY)
    flow.wait_for_file("began-1")
    flow.wait_for_file("began-2")
    flow.dataflow("dataset", "add", "bobin", "--password-stdin", input="new-password", env=KEY)
    (flow.path / "go-2").touch()
    flow.wait_for_file("began-3")
    (flow.path / "go-1").touch()
    (flow.path / "go-3").touch()
    code, shown, error = finish(draining)
    assert code == 0, error
    assert shown.count("checked with") == 3
    assert "-password" not in shown
