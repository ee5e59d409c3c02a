"""`dataflow notify`, `incidents` and `ack`, with real processes, a real webhook and a real SMTP server."""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.flow import Flow, wait_until
from tests.certificates import write_certificate
from tests.receivers import SmtpReceiver, WebhookReceiver
from tests.store.world import World

SECRET = "correct-horse-battery-staple"
FAILING = "[ ! -e broken ]"
JOB = """
[dataset.orders]
grain = "sequence"
[dataset.totals]
grain = "sequence"
[job.load]
in = ["orders"]
out = ["totals"]
"""


def declare(flow: Flow, channels: str, chunks: int = 1) -> None:
    flow.declare(JOB)
    (flow.path / "dataflow.toml").write_text(channels)
    flow.script("load", FAILING)
    (flow.path / "broken").touch()
    flow.ready("orders", *[str(number) for number in range(chunks)])


def webhook(receiver: WebhookReceiver, name: str = "ops", more: str = "") -> str:
    return f'[notify.{name}]\nkind = "webhook"\nurl = "{receiver.url}"\n{more}\n'


def fail(flow: Flow) -> None:
    flow.runjob("--drain", "-j", "4", "./load", code=None)


def recover(flow: Flow) -> None:
    (flow.path / "broken").unlink()
    dataids = [dataid for dataid, state in flow.states("load").items() if state == "FAILED"]
    flow.dataflow("resubmit", "load", *dataids)
    flow.runjob("--drain", "-j", "4", "./load")


def lapse(flow: Flow) -> None:
    """Let the leases of all deliveries lapse."""
    with flow.store() as store:
        World(store, None).poke("UPDATE delivery SET until = 0")


def events(receiver: WebhookReceiver) -> list[tuple[str, str]]:
    return [(body["event"], body["kind"]) for body in receiver.bodies]


@pytest.mark.full
def test_a_thousand_failing_chunks_are_one_notification_and_one_recovery(flow: Flow) -> None:
    with WebhookReceiver() as receiver:
        declare(flow, webhook(receiver), chunks=1000)
        fail(flow)
        assert set(flow.states("load").values()) == {"FAILED"}
        flow.dataflow("notify")
        recover(flow)
        flow.dataflow("notify")
        flow.dataflow("notify")
    assert events(receiver) == [("opened", "failed"), ("recovered", "failed")]
    assert [body["chunks"] for body in receiver.bodies] == [1000, 1000]


def test_incidents_say_what_is_wrong_since_when_and_who_was_told(flow: Flow) -> None:
    with WebhookReceiver() as receiver:
        declare(flow, webhook(receiver), chunks=3)
        assert flow.dataflow("incidents").stderr == "No open incidents.\n"
        fail(flow)
        (found,) = flow.json("incidents")
        assert (found["kind"], found["job"], found["chunks"], found["notifications"]) == (
            "failed",
            "load",
            3,
            [],
        )
        flow.dataflow("notify")
        (found,) = flow.json("incidents")
        (told,) = found["notifications"]
        assert (told["channel"], told["event"], told["state"], told["attempts"]) == (
            "ops",
            "opened",
            "sent",
            1,
        )
        flow.dataflow("ack", str(found["id"]), "--why", "disk full, being fixed")
        shown = flow.dataflow("incidents").stdout
        assert "job load" in shown
        assert "test" in flow.json("incidents")[0]["acknowledged_by"] or "@" in shown
        recover(flow)
        assert flow.json("incidents") == []
        (closed,) = flow.json("incidents", "--all")
        assert closed["recovered"]
        assert closed["acknowledged_why"] == "disk full, being fixed"


def test_a_late_dataset_is_an_incident_as_soon_as_anybody_looks(flow: Flow) -> None:
    with WebhookReceiver() as receiver:
        declare(flow, webhook(receiver))
        flow.dataflow(
            "dataset", "add", "daily", "--grain", "daily", "--due-by", "00:00", "--fresh-within", "30d"
        )
        flow.dataflow("ready", "daily", "2020-01-01")
        flow.dataflow("notify")
        assert sorted(events(receiver)) == [("opened", "overdue"), ("opened", "stale")]
        late = flow.dataflow("status", "--fail-if", "late", check=False)
        assert late.returncode == 1
        assert "daily (stale), daily (overdue)" in late.stderr
        assert "daily: overdue since" in late.stdout
        (dataset,) = [one for one in flow.json("status")["datasets"] if one["dataset"] == "daily"]
        assert [one["kind"] for one in dataset["late"]] == ["stale", "overdue"]
        flow.dataflow("dataset", "add", "daily", "--due-by", "", "--fresh-within", "0")
        assert flow.json("incidents") == []
        assert flow.dataflow("status", "--fail-if", "late").returncode == 0


@pytest.mark.parametrize("place", ["after_take", "after_send"])
def test_a_deliverer_killed_between_claim_and_record_is_made_up_for(flow: Flow, place: str) -> None:
    with WebhookReceiver() as receiver:
        declare(flow, webhook(receiver))
        fail(flow)
        killed = flow.dataflow("notify", env={"DATAFLOW_FAILPOINT": f"{place}:kill"}, check=False)
        assert killed.returncode == -signal.SIGKILL
        flow.dataflow("notify")
        assert len(receiver.posts) == (place == "after_send"), "somebody may still be sending it"
        lapse(flow)
        flow.dataflow("notify")
        flow.dataflow("notify")
    # Sent again after a crash, with the id by which the receiver can tell.
    assert len(receiver.posts) == 1 + (place == "after_send")
    assert len({headers["webhook-id"] for headers, _ in receiver.posts}) == 1


def test_processes_that_deliver_at_once_send_each_notification_once(flow: Flow) -> None:
    with WebhookReceiver() as receiver:
        declare(flow, webhook(receiver))
        fail(flow)
        flow.dataflow("dataset", "add", "daily", "--grain", "daily", "--due-by", "00:00")
        flow.dataflow("ready", "daily", "2020-01-01")
        processes = [
            flow.project.start("dataflow", "notify", env=flow.env, stderr=subprocess.PIPE) for _ in range(4)
        ]
        for process in processes:
            process.communicate(timeout=60)
        flow.dataflow("notify")
    assert sorted(events(receiver)) == [("opened", "failed"), ("opened", "overdue")]


def test_watching_delivers_as_it_happens_and_ends_on_sigterm(flow: Flow) -> None:
    with WebhookReceiver() as receiver:
        declare(flow, webhook(receiver))
        process = flow.project.start("dataflow", "notify", "--watch", env=flow.env, stderr=subprocess.PIPE)
        try:
            fail(flow)
            wait_until(lambda: len(receiver.posts) == 1)
            recover(flow)
            wait_until(lambda: len(receiver.posts) == 2)
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 0
    assert told.splitlines() == [
        "Sent to ops: failed load (opened).",
        "Sent to ops: failed load (recovered).",
    ]


BAD = """
[notify.nothing]
kind = "webhook"
[notify.unknown]
kind = "slak"
[notify.unset]
kind = "slack"
url_variable = "TEAM_URL"
[notify.missing]
kind = "command"
command = ["/no/such/command"]
attempts = 1
"""


def test_channels_that_do_not_work_are_named_and_affect_nothing_else(flow: Flow) -> None:
    with WebhookReceiver() as receiver:
        declare(flow, BAD + webhook(receiver))
        fail(flow)
        done = flow.dataflow("notify", check=False)
        assert done.returncode == 1
        assert len(receiver.posts) == 1
    for problem in (
        "notify.nothing: has no url",
        'notify.unknown.kind: unknown kind "slak". Did you mean "slack"?',
        "notify.unset: it reads its url from TEAM_URL, which is not set",
        "Not sent to missing: failed load (opened): /no/such/command: No such file or directory.",
    ):
        assert problem in done.stderr
    shown = flow.dataflow("incidents")
    assert "missing gave up after attempt 1: /no/such/command: No such file or directory" in shown.stdout
    assert "notify.nothing: has no url" in shown.stderr
    doctor = flow.project.run("dataflow", "doctor", "--json", env=flow.env, check=False)
    findings = [one for one in json.loads(doctor.stdout) if one["check"] == "channels"]
    assert [one["level"] for one in findings] == ["problem"] * 5
    recover(flow)


def dump(flow: Flow) -> str:
    """Everything the store says, and all files of the project."""
    tables = ("incident", "notification", "delivery", "channel", "journal", "run", "work", "dataset", "meta")
    rows = [str(row) for table in tables for row in flow.select(f"SELECT * FROM {table}")]
    files = [path for path in flow.path.rglob("*") if path.is_file() and path.name != "dataflow.toml"]
    return "\n".join(rows + [path.read_bytes().decode(errors="replace") for path in files])


def test_no_secret_is_in_any_output_row_or_file(flow: Flow) -> None:
    passphrase = "four-candles-and-a-fork"
    env: dict[str, Any] = {"PASSKEY": passphrase, "TEAM_URL": f"http://127.0.0.1:9/services/{SECRET}"}
    env |= {"OPS_SECRET": SECRET, "MAIL_PASSWORD": SECRET}
    record = flow.dataflow(
        "secret", "encrypt", "--notify", "sealed", input=f"http://127.0.0.1:9/{SECRET}", env=env
    ).stdout.strip()
    with WebhookReceiver(500) as receiver, SmtpReceiver(("etl", "right")) as mail:
        channels = webhook(receiver, more='secret_variable = "OPS_SECRET"\nattempts = 1')
        channels += '[notify.team]\nkind = "slack"\nurl_variable = "TEAM_URL"\n'
        channels += f'[notify.sealed]\nkind = "slack"\nencryptedurl = "{record}"\n'
        channels += f'[notify.mail]\nkind = "email"\nhost = "127.0.0.1"\nport = {mail.port}\ntls = "none"\n'
        channels += 'from = "a@b.c"\nto = ["d@e.f"]\nusername = "etl"\npassword_variable = "MAIL_PASSWORD"\n'
        channels += '[notify.page]\nkind = "command"\ncommand = "env >&2; cat >&2; exit 1"\n'
        declare(flow, channels)
        fail(flow)
        done = flow.dataflow("notify", env=env, check=False)
        assert done.stderr.count("Not sent to") == 5
        shown = flow.dataflow("incidents", "--json", env=env)
        doctor = flow.dataflow("doctor", env=env, check=False)
        (headers, body) = receiver.posts[0]
    everything = [done.stdout, done.stderr, shown.stdout, shown.stderr, doctor.stdout, doctor.stderr]
    everything += [dump(flow), body.decode(), str(headers)]
    for text in everything:
        assert SECRET not in text
        assert passphrase not in text


@pytest.mark.parametrize("trusted", [True, False])
def test_encryption_is_used_and_certificates_are_checked(flow: Flow, tmp_path: Path, trusted: bool) -> None:
    certificate = write_certificate(tmp_path / "server.pem", "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    env = {"SSL_CERT_FILE": str(certificate)} if trusted else {}
    with WebhookReceiver(tls=context) as receiver, SmtpReceiver(("etl", SECRET), context) as mail:
        channels = webhook(receiver)
        channels += f'[notify.mail]\nkind = "email"\nhost = "127.0.0.1"\nport = {mail.port}\n'
        channels += 'from = "a@b.c"\nto = ["d@e.f"]\nusername = "etl"\npassword_variable = "MAIL_PASSWORD"\n'
        declare(flow, channels)
        fail(flow)
        done = flow.dataflow("notify", env=env | {"MAIL_PASSWORD": SECRET}, check=False)
    assert (len(receiver.posts), mail.was_encrypted) == ((1, [True]) if trusted else (0, [])), done.stderr
    if not trusted:
        assert "the server's certificate is not valid" in done.stderr


def test_an_unknown_incident_cannot_be_acknowledged(flow: Flow) -> None:
    declare(flow, "")
    done = flow.dataflow("ack", "7", check=False)
    assert (done.returncode, done.stderr) == (66, "dataflow: No open incident 7. List: dataflow incidents\n")


def test_without_channels_notify_says_how_to_add_one(sqlite_flow: Flow) -> None:
    declare(sqlite_flow, "")
    done = sqlite_flow.dataflow("notify")
    assert done.stderr == "No channels. Add a table [notify.NAME] to dataflow.toml, with a kind.\n"


def test_a_worker_delivers_and_reports_a_channel_that_becomes_wrong(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    with WebhookReceiver() as receiver:
        declare(flow, webhook(receiver) + '[job.load]\ncommand = ["./load"]\n')
        said = flow.path.parent / "said"
        with said.open("w") as stderr:
            worker = flow.project.start("dataflow", "worker", env=flow.env, stderr=stderr)
        flow.started.append(worker)
        wait_until(lambda: events(receiver) == [("opened", "failed")])
        text = (flow.path / "dataflow.toml").read_text()
        (flow.path / "dataflow.toml").write_text(text + '[notify.other]\nkind = "webhok"\n')
        wait_until(lambda: 'unknown kind "webhok"' in said.read_text())
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(60) == 0
    assert events(receiver) == [("opened", "failed")]


def test_doctor_finds_channels_that_can_tell_nobody(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    channels = """
[notify.missing]
kind = "command"
command = ["./nosuch.sh"]
[notify.nobody]
kind = "command"
command = ["true"]
jobs = ["zzz"]
[notify.failing]
kind = "command"
command = ["false"]
"""
    declare(flow, channels)
    fail(flow)
    flow.dataflow("notify", check=False)
    answer = json.loads(flow.dataflow("doctor", "--json", check=False).stdout)
    found = [one for one in answer if one["check"] == "channels"]
    texts = " ".join(one["text"] for one in found)
    assert [one["level"] for one in found] == ["problem", "warning", "problem", "problem"]
    assert "notify.missing: its command" in texts
    assert 'channel nobody: jobs = "zzz" matches no job' in texts
    assert "channel failing failed (attempt 1) to tell of incident" in texts
