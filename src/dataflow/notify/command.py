"""A command of this machine that is given one notification."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from contextlib import suppress

from dataflow.notify.failures import NotSent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dataflow.config.channels import Channel
    from dataflow.notify.message import Message

SHOWN_BYTES = 300
"""How much of what a failed command wrote to stderr its error shows."""


def run_command(channel: Channel, message: Message, environ: Mapping[str, str], folder: str) -> None:
    """Run the command with the notification as JSON on stdin and its facts in variables."""
    given = dict(environ) | _variables(message)
    with tempfile.TemporaryFile() as written:
        try:
            child = subprocess.Popen(
                list(channel.command),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=written,
                env=given,
                cwd=folder,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it cannot be started"
            raise NotSent(f"{channel.command[0]}: {why}") from error
        try:
            child.communicate(message.as_json(), timeout=channel.timeout_seconds)
        except subprocess.TimeoutExpired:
            raise NotSent(f"the command did not end within {channel.timeout_seconds:g} s") from None
        finally:
            if child.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        if child.returncode:
            raise NotSent(f"the command ended with exit code {child.returncode}{_tail(written)}")


def _variables(message: Message) -> dict[str, str]:
    facts = message.facts
    names = ("event", "kind", "job", "dataset", "host", "dataid")
    found = {f"INCIDENT_{name.upper()}": facts[name] for name in names}
    found |= {"INCIDENT_ID": facts["incident"], "INCIDENT_TEXT": message.text, "NOTIFICATION_ID": message.key}
    return {name: str(value or "").replace("\0", "") for name, value in found.items()}


def _tail(written: object) -> str:
    file: tempfile._TemporaryFileWrapper[bytes] = written  # type: ignore[assignment]
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - SHOWN_BYTES))
    text = " ".join(file.read().decode("utf-8", "replace").split())
    return f": {text}" if text else ""
