"""The settings' values by precedence, each knowing where it came from."""

from __future__ import annotations

import os

from dataflow.config.project import PROJECT_FILE, find_file, find_project_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dataflow.config.problems import Problems


class Setting:
    """A value, its name in messages, and the folder its relative paths start from."""

    # start-up: a dataclass takes longer than the rest of this module
    __slots__ = ("folder", "origin", "value")

    def __init__(self, value: str, origin: str, folder: str) -> None:
        self.value = value
        self.origin = origin
        self.folder = folder


class Sources:
    """The DATAFLOW_ variables and dataflow.toml of one command."""

    __slots__ = (
        *("_declared", "_environ", "_folder", "_toml_path"),
        *("checks", "environments", "is_outside", "problems", "project_dir"),
    )

    def __init__(self, cwd: str, environ: Mapping[str, str], problems: Problems) -> None:
        self._folder = os.path.abspath(cwd)
        self._environ = environ
        self.problems = problems
        found = self._find_project_dir()
        self.is_outside = found is None
        self.project_dir = found or self._folder
        self._toml_path = os.path.join(self.project_dir, PROJECT_FILE)
        self._declared: dict[str, str] = {}
        self.checks: dict[str, tuple[str, ...]] = {}
        self.environments: dict[str, dict[str, str]] = {}
        if find_file(self.project_dir, PROJECT_FILE):
            # start-up: a project without the file does not load the TOML reader
            from dataflow.config.declarations import read_project_file

            self._declared, declared = read_project_file(self._toml_path, problems)
            self.checks, self.environments = declared.checks, declared.environments

    def find(self, name: str) -> Setting | None:
        """Return the setting from the source with the highest precedence."""
        return self.find_variable(name) or self.find_declared(name)

    def find_variable(self, name: str) -> Setting | None:
        """Return the setting from its variable; an empty one counts as unset."""
        variable = f"DATAFLOW_{name.upper()}"
        value = self._environ.get(variable)
        return Setting(value, variable, self._folder) if value else None

    def find_declared(self, name: str) -> Setting | None:
        """Return the setting from dataflow.toml."""
        value = self._declared.get(name)
        return None if value is None else Setting(value, f"{self._toml_path}: {name}", self.project_dir)

    def find_path(self, name: str) -> str | None:
        """Return the setting as an absolute path."""
        setting = self.find(name)
        return os.path.abspath(os.path.join(setting.folder, setting.value)) if setting else None

    def _find_project_dir(self) -> str | None:
        given = self._environ.get("DATAFLOW_PROJECT")
        if not given:
            return find_project_dir(self._folder)
        folder = os.path.abspath(os.path.join(self._folder, given))
        if not os.path.isdir(folder):
            self.problems.add("DATAFLOW_PROJECT", f"{folder} is not a folder")
        return folder
