"""The configuration, store and passphrase of a command, each loaded when it is first needed."""

from __future__ import annotations

import os
import sys
import warnings

from dataflow.config.project import PROJECT_FILE, no_project
from dataflow.config.settings import Config, load_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dataflow.model.records import Plan
    from dataflow.store.store import Store


class Context:
    """The configuration and store of one command; the store is opened on first use."""

    def __init__(
        self, store_url: str | None, environ: Mapping[str, str], cwd: str, makes_store: bool = False
    ) -> None:
        self.environ = environ
        self.cwd = cwd
        self._store_url = store_url
        self._makes_store = makes_store
        self._config: Config | None = None
        self._store: Store | None = None
        self._passphrase: str | None = None
        self._opened_password: str | None = None

    @property
    def config(self) -> Config:
        """The configuration, read once."""
        if self._config is None:
            self._config = load_config(self.cwd, self.environ, self._store_url)
        return self._config

    @property
    def store(self) -> Store:
        """The status store; StoreMissing if it does not exist and the command does not create it."""
        if self._store is None:
            self.refuse_missing_store()
            warnings.showwarning = _show_warning  # type: ignore[assignment]  # only the first argument is used
            from dataflow.store.opener import find_missing, open_store  # start-up: `--help` opens no store

            config = self.config
            new = find_missing(config.store_url)
            self._store = open_store(
                config.store_url, config.actor, config.store_schema, self._store_password()
            )
            if new:
                self.say(f"Created store {new}")
        return self._store

    @property
    def is_store_missing(self) -> bool:
        """True while the command has not created its embedded store."""
        from dataflow.store.opener import find_missing  # start-up: `--help` opens no store

        return self._store is None and find_missing(self.config.store_url) is not None

    def refuse_missing_store(self) -> None:
        """Raises StoreMissing if the store does not exist, before anything else is written."""
        if self._makes_store:
            return
        if self.config.is_outside:
            raise no_project(self.cwd)
        from dataflow.store.opener import refuse_missing  # start-up: `--help` opens no store

        refuse_missing(self.config.store_url, self._beginning())

    def _beginning(self) -> str:
        """The command that creates the store of this project."""
        folder = self.config.project_dir
        if os.path.isdir(os.path.join(folder, "pipelines")):
            return "dataflow run PIPELINE (to list them: dataflow pipeline list)"
        try:
            with open(os.path.join(folder, PROJECT_FILE), encoding="utf-8") as file:
                declares = any(line.startswith(("[dataset.", "[job.")) for line in file)
        except (OSError, ValueError):
            declares = False
        return "dataflow apply" if declares else "dataflow dataset add NAME"

    def passphrase(self) -> str:
        """The passphrase, from PASSKEY, the configured file, or a prompt when stdin is a terminal."""
        if self._passphrase is None:
            from dataflow.secrets.passphrase import get_passphrase  # start-up: most commands open no secret

            prompt = _ask if sys.stdin is not None and sys.stdin.isatty() else None
            self._passphrase = get_passphrase(self.config.passkey, self.config.passkey_file, prompt)
        return self._passphrase

    def get_plan(self, job: str) -> Plan:
        """A job by name; UnknownName with the nearest name, or how to run a pipeline that has not run."""
        from dataflow.actions.names import get_registered

        return get_registered(self.store, job, self.config.project_dir)

    def say(self, text: str) -> None:
        """Prints a message to stderr; stdout is for data."""
        _say(text)

    def is_gone(self, claimant: str) -> bool:
        """Whether the process of that claimant is known to be dead, on this machine."""
        from dataflow.runjob.lock import is_claimant_name, is_dead  # start-up: few commands ask

        return is_claimant_name(claimant) and is_dead(self.config.lock_dir, claimant)

    def list_secrets(self) -> list[str]:
        """The secrets opened so far: the passphrase and the store's password."""
        return [secret for secret in (self._passphrase, self._opened_password) if secret]

    def close(self) -> None:
        """Closes the store, if it was opened."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _store_password(self) -> str | None:
        if self.config.store_password_record is None:
            self._opened_password = self.config.store_password
        else:
            # start-up: most stores have none to open
            from dataflow.actions.passwords import open_store_password

            self._opened_password = open_store_password(self.config, self.passphrase)
        return self._opened_password


def _say(text: object) -> None:
    from dataflow.cli.terminal import write_line  # start-up: a quiet command says nothing

    write_line(str(text), sys.stderr)


def _show_warning(message: Warning | str, *_: object) -> None:
    """Prints a warning without the line of code that it came from."""
    _say(f"warning: {message}")


def _ask() -> str:
    from getpass import getpass

    return getpass("Passphrase: ")
