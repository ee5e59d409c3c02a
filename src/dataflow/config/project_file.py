"""Reading a project's dataflow.toml whole: its settings and its declarations."""

from __future__ import annotations

from dataflow.config.declarations import read_tables
from dataflow.config.fields import read_name
from dataflow.config.toml_file import load_toml
from dataflow.config.variables import SETTINGS
from dataflow.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.config.declarations import Declarations
    from dataflow.config.problems import Problems


def read_project_file(path: str, problems: Problems) -> tuple[dict[str, str], Declarations]:
    """The settings and the declarations of that file, noting everything that is wrong in it."""
    document = load_toml(path, problems)
    declared = read_tables(path, document, problems)
    settings: dict[str, str] = {}
    for key in SETTINGS:
        if key in document:
            try:
                settings[key] = read_name(document[key])
            except BadInput as error:
                problems.add(f"{path}: {key}", str(error))
    return settings, declared
