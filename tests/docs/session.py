"""Runs the examples of a page as one shell session and compares what they print with what the page shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs.pages import list_blocks, name_of
from tests.project import COMMANDS, Project

ANYTHING = "…"
"""In an expected line: any characters. As a whole line: any number of lines."""

_EXITS = re.compile(r"# exits (\d+)\s*$")
_MARK = "=-=-= end of command"


@dataclass
class Command:
    """One command of a page: its text, the output shown for it (empty: none is), and its exit code."""

    text: str
    line: int
    expected: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """What it is to end with: 0, or what a comment such as `# exits 65` says."""
        found = _EXITS.search(self.text)
        return int(found[1]) if found else 0


def list_commands(page: Path) -> list[Command]:
    """The commands of a page's console, sh and python blocks, in order."""
    commands: list[Command] = []
    previous = ""
    for block in list_blocks(page):
        if block.kind == "console":
            commands += _from_console(block.text, block.line)
        elif block.kind == "sh":
            commands.append(Command(f"(set -e\n{block.text}\n)", block.line))
        elif block.kind == "python":
            commands.append(Command(f"python - <<'END_OF_EXAMPLE'\n{block.text}\nEND_OF_EXAMPLE", block.line))
        elif block.kind == "text" and previous in ("sh", "python"):
            commands[-1].expected = block.text.splitlines()
        previous = block.kind
    return commands


def run_page(page: Path, project: Project, folder: Path, env: dict[str, str] | None = None) -> None:
    """Runs all commands of a page in one shell; AssertionError for the first that does not do what is shown.

    `folder` is where the commands are put that the session finds.
    """
    commands = list_commands(page)
    script = "".join(f"{command.text}\nprintf '\\n{_MARK} %s\\n' $?\n" for command in commands)
    path = project.path / ".session.sh"
    path.write_text(script)
    places = {"PATH": f"{_make_commands(folder)}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["bash", str(path)],
        cwd=project.path,
        env=project.environment(places | (env or {})),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    outputs = re.split(rf"\n{_MARK} (\d+)\n", done.stdout)
    for command, output, code in zip(commands, outputs[::2], outputs[1::2], strict=False):
        _compare(command, output, int(code), f"{name_of(page)}, line {command.line}")
    assert len(outputs) // 2 == len(commands), f"{name_of(page)}: the session ended early:\n{done.stdout}"


def matches(expected: list[str], output: str) -> bool:
    """True when the output is what is shown, up to trailing blanks and what `…` stands for."""
    pattern = ""
    for line in expected:
        if line.strip() == ANYTHING:
            pattern += r"(?:.*\n)*?"
        else:
            pattern += (
                ".*".join(re.escape(part.rstrip() if last else part) for part, last in _parts(line)) + r"\n"
            )
    lines = [line.rstrip() for line in output.rstrip("\n").split("\n")] if output.strip() else []
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def _parts(line: str) -> list[tuple[str, bool]]:
    parts = line.split(ANYTHING)
    return [(part, number == len(parts) - 1) for number, part in enumerate(parts)]


def _from_console(text: str, line: int) -> list[Command]:
    commands: list[Command] = []
    for number, shown in enumerate(text.splitlines(), start=line + 1):
        if shown.startswith("$ "):
            commands.append(Command(shown[2:], number))
        elif shown.startswith("> ") and not commands[-1].expected:
            commands[-1].text += f"\n{shown[2:]}"
        else:
            commands[-1].expected.append(shown)
    return commands


def _compare(command: Command, output: str, code: int, place: str) -> None:
    shown = f"{place}: {command.text}\nended with {code} and wrote:\n{output}"
    assert code == command.exit_code, shown
    if command.expected:
        expected = "\n".join(command.expected)
        assert matches(command.expected, output), f"{shown}\nbut the page shows:\n{expected}"


def _make_commands(folder: Path) -> Path:
    """Puts the two commands, and python, where the session finds them."""
    folder.mkdir()
    argvs = {name: [sys.executable, "-m", module] for name, module in COMMANDS.items()}
    argvs["python"] = [sys.executable]
    for name, argv in argvs.items():
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec {shlex.join(argv)} "$@"\n')
        path.chmod(0o755)
    return folder
