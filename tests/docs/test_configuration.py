"""Every setting, variable and key is documented, and every one in the docs exists."""

from __future__ import annotations

import re

import dataflow
from dataflow.actions.locations import FIELDS as LOCATION_FIELDS
from dataflow.actions.shell_names import FIELDS as DATASET_FIELDS
from dataflow.config.declarations import DATASET_KEYS, JOB_KEYS
from dataflow.config.login import BROKER_VARIABLES, LOGIN_KEYS
from dataflow.config.properties import KNOWN_KEYS
from dataflow.config.server import SERVER_KEYS
from dataflow.config.server import VARIABLES as SERVER_VARIABLES
from dataflow.config.variables import OWN_VARIABLES, SETTINGS, VARIABLES
from dataflow.model.cron import CONTINUOUS, PRESET_ALIASES, PRESETS
from dataflow.model.records import Job
from dataflow.model.wording import format_seconds
from tests.docs.pages import DOCS, PAGES, list_rows, list_sections, list_spans

SECTIONS = list_sections(DOCS / "configuration.md")
ENVIRONMENT = list_sections(DOCS / "environment.md")
DEBUG = "DATAFLOW_DEBUG"


def spans_of(cell: str) -> list[str]:
    """The code spans of one cell."""
    return re.findall(r"`([^`]+)`", cell)


def test_every_setting_has_its_row_with_its_variable() -> None:
    rows = [row for row in list_rows(SECTIONS["Settings"]) if len(row) == 4]
    shown = {row[0].strip("`"): row[1].strip("`") for row in rows}
    variables = {name: f"DATAFLOW_{name.upper()}" for name in SETTINGS}
    assert shown == {name: variable if variable in VARIABLES else "" for name, variable in variables.items()}


def test_every_variable_is_documented() -> None:
    shown = set(re.findall(r"DATAFLOW_[A-Z_]+", SECTIONS["Settings"] + SECTIONS["Server"]))
    assert {*VARIABLES, *OWN_VARIABLES, DEBUG} <= shown


def test_no_page_names_a_variable_that_does_not_exist() -> None:
    known = {*VARIABLES, *OWN_VARIABLES, DEBUG, "DATAFLOW_CONN_", "DATAFLOW_"}
    named = {name for page in PAGES for name in re.findall(r"\bDATAFLOW_[A-Z_]*", page.read_text())}
    assert {name for name in named if not re.match("DATAFLOW_CONN_[A-Z]", name)} <= known


def test_every_key_of_a_declared_dataset_is_documented() -> None:
    shown = _keys_after("[dataset.NAME]")
    assert shown == {*DATASET_KEYS, "check"}


def test_every_key_of_a_declared_job_is_documented_with_its_default() -> None:
    assert _keys_after("[job.NAME]") == {*JOB_KEYS, "command"}
    rows = [row for row in list_rows(_part_after("[job.NAME]")) if len(row) == 3]
    shown = {name: default.strip("`") for keys, default, _ in rows for name in spans_of(keys)}
    assert shown.pop("command") == ""
    assert shown == {key: default_of(field) for key, (field, _) in JOB_KEYS.items()}


def default_of(field: str) -> str:
    """A field's default as the table shows it: empty for nothing."""
    value = getattr(Job("plain"), field)
    if isinstance(value, bool):
        return str(value).lower()
    if field.endswith("_seconds"):
        return format_seconds(value)
    return str(value) if value or value == 0 else ""


def test_the_example_declares_every_key() -> None:
    text = SECTIONS["Declarations"]
    declared = set(re.findall(r"^(\w+) = ", text, flags=re.MULTILINE))
    assert {*DATASET_KEYS, "check", *JOB_KEYS, "command"} - declared == {"encryptedpass"}


def test_every_key_of_a_properties_file_is_documented() -> None:
    rows = [row for row in list_rows(SECTIONS["dataflow.properties"]) if row[0].startswith("`")]
    assert tuple(row[0].strip("`") for row in rows) == KNOWN_KEYS


def test_every_key_of_the_server_is_documented_with_its_variable() -> None:
    rows = [row for row in list_rows(_part_after("[server]", "Server")) if len(row) == 4]
    shown = {name: spans_of(row[1]) for row in rows for name in spans_of(row[0])}
    variables = {field: [name] for name, (field, _) in SERVER_VARIABLES.items()}
    assert shown == {key: variables.get(key, []) for key in SERVER_KEYS}
    assert {name: VARIABLES[name] for name in SERVER_VARIABLES}
    assert _keys_after("[server.login]", "Server") == {*LOGIN_KEYS}
    assert set(BROKER_VARIABLES) <= set(spans_of(SECTIONS["Server"]))


def test_every_field_that_a_script_receives_is_documented() -> None:
    section = ENVIRONMENT["What a script receives"]
    rows = [row for row in list_rows(section) if row[0].startswith("`")]
    shown = {name for row in rows for name in spans_of(row[0])}
    assert {
        *DATASET_FIELDS,
        "dataid",
        "jobid",
        "option_<name>",
        "DATAFLOW_RUN_ID",
        "DATAFLOW_INTERVAL_START",
        "DATAFLOW_INTERVAL_END",
        "DATAFLOW_CONTEXT",
    } <= shown
    told = {name for name, meaning in OWN_VARIABLES.items() if not meaning.startswith("tests only")}
    assert shown - set(DATASET_FIELDS) == told | {"jobid", "option_<name>", "<dataset>_<field>"}


def test_every_field_of_a_location_is_documented() -> None:
    assert {f"{{{name}}}" for name in LOCATION_FIELDS} <= set(spans_of(ENVIRONMENT["Locations"]))


def test_every_preset_of_a_schedule_is_documented() -> None:
    spans = set(list_spans(DOCS / "schedules.md"))
    assert {*PRESETS, *PRESET_ALIASES} <= spans
    assert {span for span in spans if span.startswith("@")} <= {*PRESETS, *PRESET_ALIASES, CONTINUOUS}


def test_every_public_name_is_in_the_page_about_python() -> None:
    text = (DOCS / "python.md").read_text()
    assert not [name for name in dataflow.__all__ if not re.search(rf"\b{name}\b", text)]


def _part_after(header: str, section: str = "Declarations") -> str:
    text = SECTIONS[section]
    begin = re.search(rf"The keys of (a|the) `{re.escape(header)}`", text)
    assert begin is not None
    following = text.find("The keys of", begin.end())
    return text[begin.start() : following if following > 0 else len(text)]


def _keys_after(header: str, section: str = "Declarations") -> set[str]:
    return {name for row in list_rows(_part_after(header, section)) for name in spans_of(row[0])}
