"""E-mail with one notification, over SMTP."""

from __future__ import annotations

import smtplib
import socket
import ssl
import threading
from contextlib import suppress
from email.message import EmailMessage

from dataflow.config.channels import IMPLICIT, STARTTLS
from dataflow.model.incident import OPENED
from dataflow.notify.failures import NotSent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.config.channels import Channel
    from dataflow.notify.message import Message

PORTS = {IMPLICIT: 465, STARTTLS: 587}
PLAIN_PORT = 25


def send_mail(channel: Channel, message: Message, password: str) -> None:
    """Send a notification to all recipients of a channel."""
    letter = _compose(channel, message)
    connected: list[smtplib.SMTP] = []
    cut = threading.Event()
    watchdog = threading.Timer(channel.timeout_seconds, _cut, (connected, cut))
    watchdog.daemon = True
    watchdog.start()
    try:
        with _connect(channel) as server:
            connected.append(server)
            if channel.tls == STARTTLS:
                server.starttls(context=ssl.create_default_context())
            if channel.username:
                server.login(channel.username, password)
            server.send_message(letter)
    except smtplib.SMTPAuthenticationError as error:
        raise NotSent(f"the server refused the login ({error.smtp_code})") from error
    except smtplib.SMTPRecipientsRefused as error:
        raise NotSent("the server refused all recipients") from error
    except smtplib.SMTPResponseException as error:
        raise NotSent(f"the server refused the message ({error.smtp_code})") from error
    except (OSError, smtplib.SMTPException, ValueError) as error:
        raise _not_sent(error, cut.is_set(), channel.timeout_seconds) from error
    finally:
        watchdog.cancel()


def _connect(channel: Channel) -> smtplib.SMTP:
    port = channel.port or PORTS.get(channel.tls, PLAIN_PORT)
    if channel.tls == IMPLICIT:
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(channel.host, port, timeout=channel.timeout_seconds, context=context)
    return smtplib.SMTP(channel.host, port, timeout=channel.timeout_seconds)


def _compose(channel: Channel, message: Message) -> EmailMessage:
    letter = EmailMessage()
    letter["From"], letter["To"] = channel.sender, ", ".join(channel.recipients)
    letter["Subject"] = " ".join(message.headline.split())
    letter["Message-ID"] = f"<{message.key}@dataflow>"
    letter["Auto-Submitted"] = "auto-generated"
    facts = message.facts
    lines = [message.text, "", f"Incident {facts['incident']} since {facts['opened_at']}"]
    if facts["event"] == OPENED:
        lines.append(f"To see all: dataflow incidents. To silence it: dataflow ack {facts['incident']}")
    letter.set_content("\n".join(lines) + "\n")
    return letter


def _cut(connected: list[smtplib.SMTP], cut: threading.Event) -> None:
    cut.set()
    for server in connected:
        with suppress(OSError, AttributeError):
            server.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]


def _not_sent(error: Exception, was_cut: bool, timeout_seconds: float) -> NotSent:
    if was_cut or isinstance(error, TimeoutError):
        return NotSent(f"the message was not taken within {timeout_seconds:g} s")
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return NotSent("the server does not offer the encryption or login that the channel asks for")
    if isinstance(error, OSError) and error.strerror and not isinstance(error, smtplib.SMTPException):
        return NotSent(f"cannot reach the server: {error.strerror}")
    return NotSent(f"the server does not speak SMTP as expected ({type(error).__name__})")
