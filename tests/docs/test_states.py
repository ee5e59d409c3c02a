"""The pages about words, states and errors say what the code says."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

from dataflow import errors
from dataflow.model import answers, status
from dataflow.model.grain import Grain
from dataflow.model.mapping import KNOWN
from tests.docs.pages import DOCS, ROOT, list_blocks, list_rows, list_sections, name_of

STATES = list_sections(DOCS / "states.md")
ENUMS = {
    "Status: what people see of a chunk": status.Status,
    "States: what is being done about work": status.WorkState,
    "Outcomes: how one run ended": status.RunOutcome,
}
DIAGRAMS = [ROOT / "README.md", DOCS / "states.md"]


def comments_of(kind: type) -> dict[str, str]:
    """What the source says beside each value."""
    return dict(re.findall(r'^    \w+ = "(.+?)"  # (.*)$', inspect.getsource(kind), flags=re.MULTILINE))


def meanings_in(section: str) -> dict[str, str]:
    """The first two columns of a section's tables, where the first is one code span."""
    rows = [row for row in list_rows(section) if re.fullmatch("`[^`]+`", row[0])]
    return {row[0].strip("`"): row[1] for row in rows}


@pytest.mark.parametrize(("title", "kind"), ENUMS.items())
def test_each_value_is_documented_in_the_words_of_the_code(title: str, kind: type) -> None:
    known = comments_of(kind)
    assert known
    shown = {name: meaning for name, meaning in meanings_in(STATES[title]).items() if name.isupper()}
    assert shown == known


def test_the_table_of_moves_is_that_of_the_code() -> None:
    rows = {row[0].strip("`"): row for row in list_rows(STATES["States: what is being done about work"])}
    shown = {name: tuple(_states(cell) for cell in row[1:3]) for name, row in rows.items() if name.islower()}
    assert shown == status.MOVES


@pytest.mark.parametrize("page", DIAGRAMS, ids=name_of)
def test_the_diagram_draws_only_legal_moves(page: Path) -> None:
    diagram = next(block.text for block in list_blocks(page) if block.kind == "mermaid")
    drawn = re.findall(r"^ *(\w+) --> (\w+): (.*)$", diagram, flags=re.MULTILINE)
    assert {state for edge in drawn for state in edge[:2]} == set(status.WorkState)
    for begin, end, moves in drawn:
        for move in moves.split(", "):
            sources, targets = status.MOVES[move]
            assert begin in sources and end in targets, f"{begin} --> {end}: {move}"


def test_the_diagram_of_the_states_page_draws_all_but_the_rare_moves() -> None:
    diagram = next(block.text for block in list_blocks(DOCS / "states.md") if block.kind == "mermaid")
    drawn = set(re.findall(r"[a-z]+", " ".join(re.findall(r": ([a-z, ]+)$", diagram, flags=re.MULTILINE))))
    assert set(status.MOVES) - drawn == {"force", "mark", "accept"}


def test_the_table_of_errors_is_that_of_the_code() -> None:
    section = list_sections(DOCS / "errors.md")["Errors"]
    shown = [tuple(cell.strip("`") for cell in row) for row in list_rows(section)]
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    wanted = [
        (kind.__name__, kind.code, str(kind.exit_code), str(kind.http_status), inspect.getdoc(kind))
        for kind in kinds
        if issubclass(kind, errors.DataFlowError)
    ]
    assert shown == wanted


def test_every_error_is_in_the_one_file_of_errors() -> None:
    known = {name for name, kind in vars(errors).items() if inspect.isclass(kind)}
    found = {
        f"{path.name}: {made.name}"
        for path in Path(errors.__file__).parent.rglob("*.py")
        for made in ast.walk(ast.parse(path.read_text()))
        if isinstance(made, ast.ClassDef) and path.name != "errors.py"
        for base in made.bases
        if ast.unparse(base).rpartition(".")[2] in known
    }
    assert found == set()


def test_every_exit_code_is_in_the_tables_of_exit_codes() -> None:
    sections = list_sections(DOCS / "errors.md")
    runjob = " ".join(row[0] for row in list_rows(sections["RunJob, `dataflow run` and `dataflow force`"]))
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    codes = {kind.exit_code for kind in kinds if issubclass(kind, errors.DataFlowError)}
    shown = {int(number) for number in re.findall(r"\d+", runjob)}
    assert shown == codes | {0, 1, 124, 127, 128}


def test_the_glossary_has_the_five_questions_in_their_order() -> None:
    sections = list_sections(DOCS / "glossary.md")
    assert list(meanings_in(sections["The five answers"])) == list(answers.Question)


def test_the_page_of_schedules_has_every_grain_and_mapping() -> None:
    sections = list_sections(DOCS / "schedules.md")
    assert list(meanings_in(sections["Grains"])) == list(Grain)
    assert list(meanings_in(sections["Mappings"])) == list(KNOWN)
    words = list_sections(DOCS / "glossary.md")["Words"]
    grains = next(row[1] for row in list_rows(words) if row[0] == "grain")
    assert f"`{' '.join(Grain)}`" in grains


def _states(cell: str) -> frozenset[status.WorkState]:
    return frozenset(status.WorkState(name) for name in cell.split(", "))
