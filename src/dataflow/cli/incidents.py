"""`dataflow incidents`, `ack` and `notify`: what is in trouble, who knows, and telling them."""

from __future__ import annotations

import argparse
import signal

from dataflow import failpoints
from dataflow.actions import incidents as actions
from dataflow.actions.descriptions import describe_incident
from dataflow.cli.layout import PROSE, make_columns
from dataflow.cli.options import Commands, add_switches, count
from dataflow.cli.tables import show_rows
from dataflow.config.project import PROJECT_FILE
from dataflow.model.incident import RECOVERED
from dataflow.model.wording import counted
from dataflow.runjob.dead_workers import is_dead_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dataflow.cli.context import Context
    from dataflow.model.incident import DeliveryRow, Incident
    from dataflow.notify.senders import Place

COLUMNS = make_columns(
    id=0, kind=0, what=0, since=3, chunks=2, closed=4, acknowledged=5, reason=(1, PROSE), notified=(0, PROSE)
)

ALL_COLUMNS = make_columns(
    id=0, kind=0, what=0, since=2, chunks=3, closed=0, acknowledged=5, reason=(1, PROSE), notified=(4, PROSE)
)
"""With closed incidents, what tells them from open ones stays on a narrow terminal."""


def add_parser(commands: Commands) -> None:
    """Adds `incidents`, `ack` and `notify`."""
    parser = commands.add("incidents", incidents, "wide", "json")
    add_switches(parser, all="list the closed ones too")
    parser = commands.add("ack", acknowledge, "why")
    parser.add_argument("incident", type=count, metavar="ID", help="id, as listed by `dataflow incidents`")
    parser = commands.add("notify", notify)
    add_switches(parser, watch="go on until interrupted")
    parser.add_argument("--quiet", "-q", action="store_true", help="print only what could not be sent")


def incidents(args: argparse.Namespace, context: Context) -> None:
    """Lists what is in trouble: one line for each kind of trouble of a job, dataset or host, however many
    chunks or workers it has, and who was notified.
    """
    found = actions.list_incidents(context.store, args.all, lambda row: is_dead_here(context.config, row))
    if args.json:
        show_rows([describe_incident(*one) for one in found], COLUMNS, True)
    else:
        columns = ALL_COLUMNS if args.all else COLUMNS
        show_rows([_row(*one) for one in found], columns, False, "No open incidents.", args.wide)
    for problem in list_problems(context):
        context.say(f"dataflow: {problem}")


def acknowledge(args: argparse.Namespace, context: Context) -> None:
    """Silences an incident: no more notifications are sent for it, except of its recovery to channels that
    know of it. It closes by itself; that of a lost worker closes now.
    """
    actions.acknowledge(context.store, args.incident, args.why)
    context.say(f"Acknowledged incident {args.incident}.")


def notify(args: argparse.Namespace, context: Context) -> int:
    """Sends notifications of incidents to the channels in dataflow.toml: those that are due now, or, with
    --watch, all until it is interrupted. Exits with 1 if a channel does not work.
    """
    from dataflow.notify.notifier import Notifier, describe  # start-up: no other command needs it

    failpoints.arm(context.environ.get("DATAFLOW_FAILPOINT", ""))
    place = get_place(context)
    if args.watch:
        notifier = Notifier(context.store.separate, place, context.say, args.quiet)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: notifier.request_stop())
        notifier.run()
        return 0
    outcomes, problems = Notifier(lambda: context.store, place).run_once(context.store)
    for outcome in outcomes:
        if outcome.error or not args.quiet:
            context.say(describe(outcome))
    for problem in problems:
        context.say(f"dataflow: {problem}")
    waiting = [one for one in context.store.watching.list_failed() if one.state == "due"]
    if waiting and not outcomes:
        first = waiting[0]
        context.say(
            f"{counted(len(waiting), 'notification')} not sent yet and tried again later; the first, to "
            f"{first.channel}: {first.error}"
        )
    if not problems and not _has_channels(context):
        context.say(f"No channels. Add a table [notify.NAME] to {PROJECT_FILE}, with a kind.")
    return 1 if problems or any(outcome.error for outcome in outcomes) else 0


def _has_channels(context: Context) -> bool:
    from dataflow.config.channels import find_channels

    return bool(find_channels(context.config.project_dir).channels)


def list_problems(context: Context) -> tuple[str, ...]:
    """What is wrong with the channels of this machine."""
    from dataflow.config.channels import find_channels

    found = find_channels(context.config.project_dir)
    if not found.channels:
        return found.problems
    from dataflow.notify.senders import list_missing_commands, make_senders

    place = get_place(context)
    # Encrypted secrets are only opened to send.
    plain = [
        one for one in found.channels if not (one.encryptedurl or one.encryptedsecret or one.encryptedpass)
    ]
    missing = list_missing_commands(found.channels, place)
    return (*found.problems, *make_senders(plain, place)[1], *missing)


def get_place(context: Context) -> Place:
    """This machine, as channels need it."""
    from dataflow.notify.senders import Place

    return Place(context.config, context.environ, context.passphrase)


def _row(incident: Incident, deliveries: Sequence[DeliveryRow]) -> dict[str, Any]:
    return {
        "id": incident.incident_id,
        "kind": incident.kind,
        "what": incident.what,
        "since": incident.opened_at,
        "chunks": incident.items,
        "closed": incident.closed_at or "",
        "acknowledged": incident.acknowledged_by,
        "reason": f"{incident.dataid}: {incident.reason}" if incident.job else incident.reason,
        "notified": "; ".join([_told(one) for one in deliveries]),
    }


def _told(delivery: DeliveryRow) -> str:
    what = f"{delivery.channel} of recovery" if delivery.event == RECOVERED else delivery.channel
    if delivery.state == "sent":
        return what
    if delivery.state == "silenced":
        return f"{what} silenced"
    tried = f"after attempt {delivery.attempts}: {delivery.error}" if delivery.error else "due"
    return f"{what} {'gave up ' if delivery.state == 'failed' else 'not yet '}{tried}"
