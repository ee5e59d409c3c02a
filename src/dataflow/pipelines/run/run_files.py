"""The files that pipeline runs keep on this machine: their logs, and the pages they fetched."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dataflow.model.url_text import percent_encode
from dataflow.private_files import STATE_FOLDER, open_with_folder

if TYPE_CHECKING:
    from dataflow.model.records import Run
    from dataflow.secrets.known import KnownSecrets


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

    def __init__(self, project_dir: str) -> None:
        self._root = os.path.join(project_dir, STATE_FOLDER, "staging")

    def of_work(self, job: str, dataid: str) -> str:
        """The folder of all runs of one work."""
        return os.path.join(self._root, job, percent_encode(dataid))

    def of_run(self, run: Run, run_id: int | None = None) -> str:
        """The folder of a run, or of another run of the same work."""
        return os.path.join(self.of_work(run.job, run.dataid), str(run_id or run.run_id))

    def list_until(self, run: Run) -> list[str]:
        """The folders of a run and of all earlier runs of the same work."""
        root = self.of_work(run.job, run.dataid)
        names = os.listdir(root) if os.path.isdir(root) else []
        return [os.path.join(root, name) for name in names if name.isdecimal() and int(name) <= run.run_id]
