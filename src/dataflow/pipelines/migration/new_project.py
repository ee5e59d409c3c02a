"""Writes the files of an imported project; existing files are not overwritten, so importing twice is safe."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator

from dataflow.config.project import PROJECT_FILE
from dataflow.errors import BadInput, Conflict
from dataflow.model.record import record
from dataflow.pipelines.migration.connections import OldConnection
from dataflow.pipelines.migration.old_project import CHANGED, LEFT, OldProject, ReportLine

HEADER = "# A DataFlow project, imported from a project of the first Data Flow.\n"


@record
class NewFile:
    """A file of the new project, and the file it was made from; "" if made from several."""

    path: str
    text: str
    origin: str
    exists: bool  # with exactly this text


@record
class NewProject:
    """What an import writes, and its report."""

    folder: str
    files: tuple[NewFile, ...]
    entries: tuple[ReportLine, ...]


def plan_project(old: OldProject, folder: str, declared: Collection[str]) -> NewProject:
    """The files to write to a folder; Conflict if one of them exists with other content.

    `declared` are the connections in its dataflow.toml.
    """
    files = [_plan_file(folder, name, *made) for name, made in old.files.items()]
    has_settings = os.path.lexists(os.path.join(folder, PROJECT_FILE))
    if not has_settings:
        tables = [one.toml for one in old.targets if one.url]
        files.append(NewFile(PROJECT_FILE, "\n".join([HEADER, *tables]), "", exists=False))
    entries = [one for target in old.targets for one in _tell(target, has_settings, declared)]
    return NewProject(folder, tuple(files), (*old.entries, *entries))


def write_project(project: NewProject) -> None:
    """Writes the files that do not exist yet."""
    for file in (file for file in project.files if not file.exists):
        path = os.path.join(project.folder, file.path)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "x", encoding="utf-8") as made:
                made.write(file.text)
        except OSError as error:
            raise BadInput(f"{path} cannot be written: {error.strerror}.") from error


def _plan_file(folder: str, name: str, text: str, origin: str) -> NewFile:
    path = os.path.join(folder, name)
    if not os.path.lexists(path):
        return NewFile(name, text, origin, exists=False)
    try:
        with open(path, encoding="utf-8", newline="") as file:
            same = file.read() == text
    except (OSError, ValueError):
        same = False
    if not same:
        raise Conflict(
            f"{path} exists and differs from the conversion of {origin}; nothing was written. "
            "Move it, or import into another folder."
        )
    return NewFile(name, text, origin, exists=True)


def _tell(one: OldConnection, has_settings: bool, declared: Collection[str]) -> Iterator[ReportLine]:
    what, place = f"connection {one.name}", one.place or PROJECT_FILE
    variable = f"set {one.variable}=postgresql://user:password@host/database"
    if one.name in declared:
        return
    if not one.url:
        yield ReportLine(place, LEFT, what, f"no file of the project has its URL: {variable}")
    elif has_settings:
        table = " ".join(one.toml.split("\n")[:2])
        yield ReportLine(place, LEFT, what, f"{PROJECT_FILE} exists: add {table} to it, or {variable}")
    else:
        why = f"{one.variable} takes precedence"
        yield ReportLine(place, CHANGED, f"wrote {what} to {PROJECT_FILE}", why)
    if one.url and one.has_password:
        why = f"run dataflow secret encrypt --connection {one.name}, or {variable}"
        yield ReportLine(place, LEFT, f"password of {what}", f"passwords are not copied: {why}")
