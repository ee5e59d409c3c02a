"""The files that say what a worker does, and whether they have changed."""

from __future__ import annotations

import os

from dataflow.config.project import PROJECT_FILE, PROPERTIES_FILE

PIPELINES = "pipelines"
CONSTANTS = ("constants.py", "config.py")
"""Files beside pipelines/ that its classes read."""

Stamp = tuple[str, int, int, int]


class ProjectFiles:
    """The settings and the pipelines of one project."""

    def __init__(self, project_dir: str) -> None:
        self._folder = project_dir
        self._settings = self._stamp_settings()
        self._pipelines = self._stamp_pipelines()

    @property
    def has_pipelines(self) -> bool:
        """Whether the project has a file that may define a pipeline."""
        return any(name.endswith(".py") for name, *_ in self._list_pipelines())

    def take_changes(self) -> tuple[bool, bool]:
        """Return whether the settings and whether the pipelines have changed since the last call."""
        before = self._settings, self._pipelines
        self._settings, self._pipelines = self._stamp_settings(), self._stamp_pipelines()
        return before[0] != self._settings, before[1] != self._pipelines

    def _stamp_settings(self) -> list[Stamp]:
        return self._stamps([PROJECT_FILE, PROPERTIES_FILE])

    def _stamp_pipelines(self) -> list[Stamp]:
        return [*self._list_pipelines(), *self._stamps(CONSTANTS)]

    def _list_pipelines(self) -> list[Stamp]:
        try:
            names = sorted(os.listdir(os.path.join(self._folder, PIPELINES)))
        except OSError:
            return []
        return self._stamps([os.path.join(PIPELINES, name) for name in names if name.endswith(".py")])

    def _stamps(self, names: list[str] | tuple[str, ...]) -> list[Stamp]:
        found = []
        for name in names:
            try:
                facts = os.stat(os.path.join(self._folder, name))
            except OSError:
                continue
            found.append((name, facts.st_ino, facts.st_mtime_ns, facts.st_size))
        return found
