"""Deliveries over real sockets: what arrives, what is tried again, and what holds up nobody."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dataflow.actions.register import add_dataset
from dataflow.actions.workers import dismiss_lost, enlist
from dataflow.config.channels import Channel
from dataflow.config.settings import load_config
from dataflow.errors import StoreUnreachable
from dataflow.model.records import Dataset
from dataflow.model.status import RunOutcome
from dataflow.model.worker_rows import WorkerEntry
from dataflow.notify.deliverer import Deliverer, Outcome, _delay_after
from dataflow.notify.notifier import Notifier
from dataflow.notify.senders import Place, Sender, make_senders
from tests.receivers import SmtpReceiver, WebhookReceiver
from tests.store.world import World

SECRET = "correct-horse-battery-staple"


def make_senders_for(tmp_path: Path, *channels: Channel, **environ: str) -> list[Sender]:
    config = load_config(str(tmp_path), {"PATH": "/usr/bin:/bin"} | environ)
    senders, problems = make_senders(channels, Place(config, {"PATH": "/usr/bin:/bin"} | environ, str))
    assert problems == []
    return senders


def webhook(receiver: WebhookReceiver, name: str = "ops", **more: Any) -> Channel:
    return Channel(name, "webhook", url=receiver.url, **more)


def fail(world: World, *dataids: str) -> None:
    world.chain("orders", "totals")
    world.ready("orders", *dataids)
    for dataid in dataids:
        world.do("to_totals", dataid, RunOutcome.FAILED, reason="exit code 1", final=True)


def recover(world: World, *dataids: str) -> None:
    world.resubmit("to_totals", *dataids)
    world.drain("to_totals")


def deliver(world: World, *senders: Sender) -> list[Outcome]:
    return Deliverer(world.store, senders, "prod").run_once()


def test_many_failing_chunks_are_one_notification_and_one_recovery(world: World, tmp_path: Path) -> None:
    dataids = [str(number) for number in range(200)]
    fail(world, *dataids)
    with WebhookReceiver() as receiver:
        senders = make_senders_for(tmp_path, webhook(receiver))
        deliver(world, *senders)
        recover(world, *dataids)
        deliver(world, *senders)
        deliver(world, *senders)
    opened, recovered = receiver.bodies
    assert (opened["event"], opened["kind"], opened["job"], opened["chunks"]) == (
        *("opened", "failed", "to_totals"),
        200,
    )
    assert (recovered["event"], recovered["chunks"]) == ("recovered", 200)
    assert opened["text"] == "[prod] failed: job to_totals, 200 chunks (first: 0): exit code 1"


def test_a_webhook_is_signed_and_carries_an_id(world: World, tmp_path: Path) -> None:
    fail(world, "a")
    key = "whsec_" + base64.b64encode(b"0123456789abcdef").decode()
    with WebhookReceiver() as receiver:
        channels = (
            webhook(receiver, secret_variable="OPS_SECRET"),
            webhook(receiver, "other", secret_variable="OPS_KEY"),
        )
        senders = make_senders_for(tmp_path, *channels, OPS_SECRET=SECRET, OPS_KEY=key)
        deliver(world, *senders)
    found = set()
    for headers, body in receiver.posts:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        for secret in (SECRET.encode(), b"0123456789abcdef"):
            digest = hmac.new(secret, signed, hashlib.sha256).digest()
            if headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode():
                found.add(secret)
        assert json.loads(body)["id"] == headers["webhook-id"]
        assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60
    assert found == {SECRET.encode(), b"0123456789abcdef"}


@pytest.mark.parametrize("status", [500, 404, 429])
def test_an_error_of_the_server_is_tried_again_and_then_given_up(
    world: World, tmp_path: Path, status: int
) -> None:
    fail(world, "a")
    with WebhookReceiver(status) as receiver:
        senders = make_senders_for(tmp_path, webhook(receiver, attempts=2))
        (first,) = deliver(world, *senders)
        assert (first.state, first.error) == ("due", f"the server answered {status}")
        assert deliver(world, *senders) == []
        world.advance(30)
        (second,) = deliver(world, *senders)
        assert second.state == "failed"
        world.advance(3000)
        assert deliver(world, *senders) == []
    assert len(receiver.posts) == 2
    assert receiver.posts[0][0]["webhook-id"] == receiver.posts[1][0]["webhook-id"]
    (delivery,) = world.store.watching.list_failed()
    assert (delivery.channel, delivery.error) == ("ops", f"the server answered {status}")


def test_redirects_are_not_followed(world: World, tmp_path: Path) -> None:
    fail(world, "a")
    with WebhookReceiver(302) as receiver, WebhookReceiver() as other:
        receiver.location = other.url
        (outcome,) = deliver(world, *make_senders_for(tmp_path, webhook(receiver)))
    assert outcome.error == "the server answered 302; redirects are not followed"
    assert other.posts == []


def test_a_server_that_is_down_is_named_as_such(world: World, tmp_path: Path) -> None:
    fail(world, "a")
    with WebhookReceiver() as receiver:
        sender = make_senders_for(tmp_path, webhook(receiver))
    (outcome,) = deliver(world, *sender)
    assert outcome.error == "cannot reach the server: Connection refused"


@pytest.mark.parametrize("drips", [False, True])
def test_a_server_that_hangs_is_left_after_the_time_limit_and_holds_up_nobody(
    world: World, tmp_path: Path, drips: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow.notify.deliverer.GRACE_SECONDS", 50.0)  # so that only its own limit ends it
    monkeypatch.setattr("dataflow.notify.deliverer.SPARE_SECONDS", 60.0)
    fail(world, "a")
    with WebhookReceiver() as hanging, WebhookReceiver() as receiver:
        hanging.let_go.clear()
        hanging.drips = drips
        channels = (webhook(hanging, "slow", timeout_seconds=1.5), webhook(receiver, "quick"))
        deliverer = Deliverer(world.store, make_senders_for(tmp_path, *channels), "prod")
        begin = time.monotonic()
        outcomes = deliverer.step(1.0)
        assert [(one.channel, one.error) for one in outcomes] == [("quick", "")]
        assert time.monotonic() - begin < 1.4
        while deliverer.is_active:
            outcomes += deliverer.step(1.0)
        assert time.monotonic() - begin < 30
    assert outcomes[1].error == "no answer within 1.5 s"


def test_a_server_that_speaks_no_http_is_an_error_like_others(world: World, tmp_path: Path) -> None:
    fail(world, "a")
    with SmtpReceiver() as receiver:
        channel = Channel("ops", "webhook", url=f"http://127.0.0.1:{receiver.port}/")
        (outcome,) = deliver(world, *make_senders_for(tmp_path, channel))
    assert outcome.error == "the server's answer is not HTTP (BadStatusLine)"


def test_slack_gets_the_text_and_its_url_is_told_to_nobody_else(world: World, tmp_path: Path) -> None:
    world.chain("orders", "totals")
    world.ready("orders", "a")
    world.do("to_totals", "a", RunOutcome.FAILED, reason="a < b & c", final=True)
    with WebhookReceiver() as receiver:
        url = f"{receiver.origin}/services/T000/B000/{SECRET}"
        channel = Channel("team", "slack", url_variable="SLACK_URL")
        deliver(world, *make_senders_for(tmp_path, channel, SLACK_URL=url))
    assert receiver.paths == [f"/services/T000/B000/{SECRET}"]
    assert receiver.bodies == [{"text": "[prod] failed: job to_totals, 1 chunk (a): a &lt; b &amp; c"}]


def test_a_letter_has_a_subject_and_says_what_to_do(world: World, tmp_path: Path) -> None:
    fail(world, "a", "b")
    with SmtpReceiver() as receiver:
        letter: dict[str, Any] = {
            "host": "127.0.0.1",
            "port": receiver.port,
            "tls": "none",
            "sender": "etl@example.com",
        }
        channel = Channel("mail", "email", recipients=("ops@example.com", "eve@example.com"), **letter)
        (outcome,) = deliver(world, *make_senders_for(tmp_path, channel))
    assert outcome.error == ""
    (text,) = receiver.letters
    assert "Subject: [prod] failed: job to_totals, 2 chunks" in text
    assert "To: ops@example.com, eve@example.com" in text
    assert "dataflow ack" in text


def test_a_refused_login_is_an_error_without_the_password(world: World, tmp_path: Path) -> None:
    fail(world, "a")
    with SmtpReceiver(("etl", "right")) as receiver:
        login: dict[str, Any] = {
            "username": "etl",
            "password_variable": "MAIL_PASSWORD",
            "sender": "etl@example.com",
        }
        place: dict[str, Any] = {"host": "127.0.0.1", "port": receiver.port, "tls": "none"}
        channel = Channel("mail", "email", recipients=("ops@example.com",), **place, **login)
        (outcome,) = deliver(world, *make_senders_for(tmp_path, channel, MAIL_PASSWORD=SECRET))
    assert outcome.error == "the server refused the login (535)"
    assert receiver.letters == []


def test_a_server_that_offers_no_encryption_gets_no_letter(world: World, tmp_path: Path) -> None:
    fail(world, "a")
    with SmtpReceiver() as receiver:
        channel = Channel(
            "mail", "email", host="127.0.0.1", port=receiver.port, sender="a@b.c", recipients=("d@e.f",)
        )
        (outcome,) = deliver(world, *make_senders_for(tmp_path, channel))
    assert outcome.error.startswith("the server does not offer the encryption")
    assert receiver.letters == []


def test_a_command_gets_json_on_stdin_and_variables_without_secrets(world: World, tmp_path: Path) -> None:
    fail(world, "a")
    script = 'cat > told.json; printf "%s %s %s [%s%s]" '
    script += '"$INCIDENT_EVENT" "$INCIDENT_KIND" "$INCIDENT_JOB" "$PASSKEY" "$TEAM_URL" > variables'
    channels = (
        Channel("page", "command", command=("/bin/sh", "-c", script)),
        Channel("team", "slack", url_variable="TEAM_URL", on=()),
    )
    environ = {"PASSKEY": SECRET, "TEAM_URL": f"http://127.0.0.1:9/{SECRET}"}
    (outcome,) = deliver(world, *make_senders_for(tmp_path, *channels, **environ))
    assert outcome.error == ""
    assert json.loads((tmp_path / "told.json").read_text())["reason"] == "exit code 1"
    assert (tmp_path / "variables").read_text() == "opened failed to_totals []"


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (("/no/such/command",), "/no/such/command: No such file or directory"),
        (
            ("/bin/sh", "-c", "echo out of paper >&2; exit 3"),
            "the command ended with exit code 3: out of paper",
        ),
        (("/bin/sh", "-c", "sleep 60"), "the command did not end within 0.5 s"),
        (("/bin/sh", "-c", f"echo {SECRET} >&2; exit 1"), "the command ended with exit code 1: ***"),
    ],
)
def test_a_command_that_fails_says_why(
    world: World, tmp_path: Path, command: tuple[str, ...], error: str
) -> None:
    fail(world, "a")
    channel = Channel("page", "command", command=command, timeout_seconds=0.5)
    (outcome,) = deliver(world, *make_senders_for(tmp_path, channel, PASSKEY=SECRET))
    assert outcome.error == error


def test_a_channel_is_told_only_of_what_it_asks_for(world: World, tmp_path: Path) -> None:
    fail(world, "a")
    world.ready("orders", "b")
    world.do("to_totals", "b", RunOutcome.INVALID)
    with WebhookReceiver() as receiver:
        channels = (
            webhook(receiver, "invalid", on=("invalid",)),
            webhook(receiver, "others", jobs=("load_*",)),
            webhook(receiver, "datasets", datasets=("*",)),
            webhook(receiver, "these", jobs=("to_*",), on=("failed", "recovered")),
        )
        outcomes = deliver(world, *make_senders_for(tmp_path, *channels))
        recover(world, "a", "b")
        outcomes += deliver(world, *make_senders_for(tmp_path, *channels))
    told = sorted((one.channel, one.event, one.what) for one in outcomes)
    assert told == [
        ("invalid", "opened", "invalid to_totals"),
        ("these", "opened", "failed to_totals"),
        ("these", "recovered", "failed to_totals"),
    ]


def race(*calls: Callable[[], object]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_lost_worker_is_told_of_unless_the_channel_names_jobs_or_datasets(
    world: World, tmp_path: Path
) -> None:
    entry = WorkerEntry("00aa11bb22cc33dd", "etl1", "boot-1", 4711, "etl", "dev", "0.1.0", 4)
    enlist(world.store, entry)
    with WebhookReceiver() as receiver:
        channels = [webhook(receiver), webhook(receiver, "team", jobs=("*",), datasets=("*",))]
        senders = make_senders_for(tmp_path, *channels)
        dismiss_lost(world.store, lambda row: True)
        deliver(world, *senders)
        enlist(world.store, entry)
        deliver(world, *senders)
    opened, recovered = receiver.bodies
    assert opened["text"].startswith(
        "[prod] worker_lost: host etl1, 1 worker: worker 00aa11bb22cc33dd, process 4711"
    )
    assert (opened["host"], opened["job"], opened["dataset"], opened["chunks"]) == ("etl1", None, None, 1)
    assert opened["next"].startswith("dataflow workers; dataflow ack ")
    assert recovered["text"].startswith("[prod] recovered: host etl1 (worker_lost, 1 worker); it began at 2")


def test_deliverers_that_race_send_each_notification_once(world: World, tmp_path: Path) -> None:
    world.dataset("orders")
    for number in range(30):
        world.dataset(f"d{number}")
        world.job(f"j{number}", ["orders"], [f"d{number}"])
    world.ready("orders", "a")
    for number in range(30):
        world.do(f"j{number}", "a", RunOutcome.FAILED, final=True)
    with WebhookReceiver() as receiver:
        (sender,) = make_senders_for(tmp_path, webhook(receiver))
        besides = [world.beside() for _ in range(4)]

        def run(one: World) -> Callable[[], object]:
            return lambda: Deliverer(one.store, [sender], "prod").run_once()

        race(*[run(one) for one in besides])
        # What one has taken, the others do not wait for.
        deliver(world, sender)
    jobs = [body["job"] for body in receiver.bodies]
    assert sorted(jobs) == sorted(f"j{number}" for number in range(30))


def test_waits_between_attempts_grow_and_differ() -> None:
    waits = [_delay_after(attempts, 10.0) for attempts in range(1, 20)]
    for attempts, wait in enumerate(waits):
        longest = min(10.0 * 2**attempts, 900.0)
        assert longest * 0.8 <= wait <= longest * 1.2
    assert len({_delay_after(1, 10.0) for _ in range(20)}) > 10


def test_a_name_that_does_not_resolve_is_an_error_like_others(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object, **__: object) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    fail(world, "a") if world.clock else pytest.skip("the store itself needs the resolver")
    channel = Channel("ops", "webhook", url="http://ops.example.com/")
    (outcome,) = deliver(world, *make_senders_for(tmp_path, channel))
    assert outcome.error == "cannot reach the server: Name or service not known"


def test_a_channel_stuck_where_no_time_limit_reaches_is_given_up_and_the_others_go_on(
    sqlite_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, let_go = sqlite_world, threading.Event()
    resolve = socket.getaddrinfo

    def stuck(host: Any, *rest: Any, **more: Any) -> Any:
        if host == "ops.example.com":
            let_go.wait(60)
        return resolve(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    monkeypatch.setattr("dataflow.notify.deliverer.GRACE_SECONDS", 0.2)
    fail(world, "a")
    with WebhookReceiver() as receiver:
        lost = Channel("lost", "webhook", url="http://ops.example.com/", timeout_seconds=0.5)
        outcomes = deliver(world, *make_senders_for(tmp_path, lost, webhook(receiver)))
    let_go.set()
    assert [(one.channel, one.error) for one in outcomes] == [("ops", ""), ("lost", "no answer within 0.5 s")]


def test_a_notifier_in_a_thread_tells_of_news_and_ends_at_once_if_it_must(
    world: World, tmp_path: Path
) -> None:
    world.chain("orders", "totals")
    world.ready("orders", "a")
    with WebhookReceiver() as hanging, WebhookReceiver() as receiver:
        hanging.let_go.clear()
        channels = f'[notify.slow]\nkind = "webhook"\nurl = "{hanging.url}"\ntimeout = "30s"\n'
        channels += f'[notify.ops]\nkind = "webhook"\nurl = "{receiver.url}"\n'
        (tmp_path / "dataflow.toml").write_text(channels)
        place = Place(load_config(str(tmp_path), {}), {}, str)
        told: list[str] = []
        notifier = Notifier(world.store.separate, place, told.append)
        notifier.start()
        world.do("to_totals", "a", RunOutcome.FAILED, final=True)
        until = time.monotonic() + 60
        while not (receiver.posts and hanging.posts and told) and time.monotonic() < until:
            time.sleep(0.01)
        begin = time.monotonic()
        notifier.stop(lambda: True)
        assert time.monotonic() - begin < 9
        assert told == ["Sent to ops: failed to_totals (opened)."]


def test_a_notifier_waits_for_a_store_that_is_gone(sqlite_world: World, tmp_path: Path) -> None:
    told: list[str] = []

    def gone() -> Any:
        raise StoreUnreachable("The store does not answer.")

    notifier = Notifier(gone, Place(load_config(str(tmp_path), {}), {}, str), told.append)
    notifier.start()
    until = time.monotonic() + 60
    while not told and time.monotonic() < until:
        time.sleep(0.01)
    notifier.stop()
    assert told == ["The store does not answer."]


def test_a_channel_that_hangs_does_not_keep_a_notifier_from_looking_at_the_clocks(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow.notify.notifier.LOOK_SECONDS", 0.5)
    fail(world, "a")
    with WebhookReceiver() as hanging:
        hanging.let_go.clear()
        channel = f'[notify.slow]\nkind = "webhook"\nurl = "{hanging.url}"\ntimeout = "60s"\n'
        (tmp_path / "dataflow.toml").write_text(channel)
        place = Place(load_config(str(tmp_path), {}), {}, str)
        notifier = Notifier(world.store.separate, place)
        notifier.start()
        until = time.monotonic() + 30
        while not hanging.posts and time.monotonic() < until:
            time.sleep(0.01)
        add_dataset(world.store, Dataset("late", grain="daily", fresh_within_seconds=60))
        world.ready("late", "2020-01-01")
        kinds = {"failed"}
        while "stale" not in kinds and time.monotonic() < until:
            time.sleep(0.1)
            kinds = {one.kind for one in world.store.watching.list_incidents(False, 10)}
        notifier.stop(lambda: True)
    assert "stale" in kinds


@pytest.mark.parametrize("is_being_sent", [True, False])
def test_a_notifier_that_ends_first_records_what_it_sends(
    world: World, tmp_path: Path, is_being_sent: bool
) -> None:
    world.chain("orders", "totals")
    world.ready("orders", "a")
    with WebhookReceiver() as receiver:
        receiver.let_go.clear()
        (tmp_path / "dataflow.toml").write_text(f'[notify.ops]\nkind = "webhook"\nurl = "{receiver.url}"\n')
        place = Place(load_config(str(tmp_path), {}), {}, str)
        told: list[str] = []
        notifier = Notifier(world.store.separate, place, told.append)
        notifier.start()
        until = time.monotonic() + 60
        while not world.store.watching.list_channels() and time.monotonic() < until:
            time.sleep(0.01)
        world.do("to_totals", "a", RunOutcome.FAILED, final=True)
        while is_being_sent and not receiver.posts and time.monotonic() < until:
            time.sleep(0.01)
        threading.Timer(3.0, receiver.let_go.set).start()
        notifier.stop(looks_last=not is_being_sent)
    assert told == ["Sent to ops: failed to_totals (opened)."]
    assert len(receiver.posts) == 1
