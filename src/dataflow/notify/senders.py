"""Channels with their secrets: each sends a message or says why it could not."""

from __future__ import annotations

import os
import shutil
from types import MappingProxyType

from dataflow.actions.passwords import bound_to_channel
from dataflow.config.channels import COMMAND, EMAIL, SLACK, check_url
from dataflow.errors import BadInput, ConfigError, DataFlowError
from dataflow.model.record import record, replace
from dataflow.model.wording import quoted
from dataflow.notify.failures import NotSent
from dataflow.runjob.environment import inherited_environment, own_secrets
from dataflow.secrets.known import KnownSecrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dataflow.config.channels import Channel
    from dataflow.config.settings import Config
    from dataflow.notify.message import Message

LONGEST_ERROR = 500


@record
class Place:
    """This machine: its configuration, its variables and who knows the passphrase."""

    config: Config
    environ: Mapping[str, str]
    get_passphrase: Callable[[], str]
    environment: Mapping[str, str] = MappingProxyType({})  # what commands get


class Sender:
    """One channel that can send."""

    def __init__(self, channel: Channel, place: Place, known: KnownSecrets) -> None:
        """Read the channel's secrets; ConfigError or SecretError if one is not to be had."""
        self.channel = channel
        self._known = known
        self._url = channel.url or self._find("url", channel.url_variable, channel.encryptedurl, place)
        self._secret = self._find("secret", channel.secret_variable, channel.encryptedsecret, place)
        self._password = self._find("password", channel.password_variable, channel.encryptedpass, place)
        if self._url:
            try:
                check_url(self._url)
            except BadInput as error:
                raise ConfigError(f"notify.{channel.name}: the value of its URL {error}") from error
        self._folder = place.config.project_dir
        self._environment = place.environment

    def send(self, message: Message) -> None:
        """Send a message; NotSent says why it was not."""
        channel, limit = self.channel, self.channel.timeout_seconds
        try:
            if channel.kind == COMMAND:
                from dataflow.notify.command import run_command

                run_command(channel, message, self._environment, self._folder)
            elif channel.kind == EMAIL:
                from dataflow.notify.mail import send_mail

                send_mail(channel, message, self._password)
            elif channel.kind == SLACK:
                from dataflow.notify.webhook import post_to_slack

                post_to_slack(self._url, message, limit)
            else:
                from dataflow.notify.webhook import post_signed

                post_signed(self._url, message, self._secret, limit)
        except NotSent as error:
            raise NotSent(self.clean(str(error))) from None
        except Exception as error:
            # Whatever it is, it must neither stop the other channels nor show a secret.
            raise NotSent(self.clean(f"it failed with {type(error).__name__}")) from None

    def clean(self, text: str) -> str:
        """Return a text without secrets, short enough to store."""
        return self._known.redact_text(text)[:LONGEST_ERROR]

    def _find(self, what: str, variable: str, record: str, place: Place) -> str:
        found = ""
        if variable:
            found = place.environ.get(variable, "")
            if not found:
                raise ConfigError(
                    f"notify.{self.channel.name}: it reads its {what} from {variable}, which is not set."
                )
        elif record:
            from dataflow.secrets.cipher import decrypt  # start-up: few channels need it

            passphrase = place.get_passphrase()
            self._known.add(passphrase)
            found = decrypt(record, passphrase, bound_to_channel(self.channel.name))
        self._known.add(found)
        return found


def make_senders(channels: Sequence[Channel], place: Place) -> tuple[list[Sender], list[str]]:
    """Return the channels that can send from this machine, and what is wrong with the others."""
    hidden = own_secrets(place.environ, place.config)
    known = KnownSecrets(*hidden.values())
    known.add(place.config.passkey, place.config.store_password)
    variables = {
        name
        for one in channels
        for name in (one.url_variable, one.secret_variable, one.password_variable)
        if name
    }
    hidden |= dict.fromkeys(variables, "")  # dataflow.toml may have changed since the configuration was read
    place = replace(place, environment=inherited_environment(place.environ, hidden, {}))
    senders, problems = [], []
    for channel in channels:
        try:
            senders.append(Sender(channel, place, known))
        except DataFlowError as error:
            text = str(error)
            named = text if text.startswith("notify.") else f"notify.{channel.name}: {text}"
            problems.append(known.redact_text(named))
    return senders, problems


def list_missing_commands(channels: Sequence[Channel], place: Place) -> list[str]:
    """Return, in words, the commands of channels that this machine cannot execute."""
    found = []
    for channel in [one for one in channels if one.kind == COMMAND]:
        command = channel.command[0]
        path = os.path.join(place.config.project_dir, command) if "/" in command else command
        if not shutil.which(path, path=place.environ.get("PATH", os.defpath)):
            found.append(f"notify.{channel.name}: its command {quoted(command)} cannot be executed.")
    return found
