"""The files that pipeline runs keep on this machine: their logs, and the pages they fetched."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from dataflow.model.location import run_folder
from dataflow.model.url_text import percent_encode
from dataflow.private_files import STATE_FOLDER, open_with_folder

if TYPE_CHECKING:
    from dataflow.model.records import Run
    from dataflow.secrets.known import KnownSecrets
    from dataflow.store.run_reads import EarlierRun


class PipelineLog:
    """Writes the logs of runs, without secrets."""

    def __init__(self, folder: str, secrets: KnownSecrets) -> None:
        self._folder = folder
        self._secrets = secrets
        self.problem = ""  # why a line is missing from the run's log

    def write(self, run: Run, text: str) -> None:
        """Adds a line to the run's log.

        If it cannot be written the run continues: what it may have published matters more.
        """
        path = os.path.join(self._folder, f"{run.run_id}.log")
        try:
            with open(path, "a", encoding="utf-8", opener=open_with_folder) as file:
                file.write(self.redact(text) + "\n")
        except OSError as error:
            self.problem = f"{path} cannot be written: {error.strerror or error}."

    def redact(self, text: str) -> str:
        """The text without any secret that was looked up or decrypted so far."""
        return self._secrets.redact_text(text)


class StagingFolders:
    """The folders where runs keep what they fetch until it is published."""

    def __init__(self, project_dir: str, store_id: str) -> None:
        self._root = os.path.join(project_dir, STATE_FOLDER, "staging")
        self._store_id = store_id

    def of_work(self, job: str, dataid: str) -> str:
        """The folder of all runs of one work."""
        return os.path.join(self._root, job, percent_encode(dataid))

    def of_run(self, run: Run, earlier: EarlierRun | None = None) -> str:
        """The folder of a run, or of an earlier run of the same work."""
        who = earlier or run
        name = run_folder(who.run_id, who.claimant, self._store_id)
        return os.path.join(self.of_work(run.job, run.dataid), name)

    def list_until(self, run: Run) -> list[str]:
        """The folders of a run and of all earlier runs of the same work in this store."""
        root = self.of_work(run.job, run.dataid)
        own = re.compile(rf"([0-9]+)-{self._store_id[:8]}-[0-9a-f]{{16}}")
        found = map(own.fullmatch, os.listdir(root) if os.path.isdir(root) else [])
        return [os.path.join(root, name[0]) for name in found if name and int(name[1]) <= run.run_id]
