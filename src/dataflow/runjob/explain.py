"""Why a command cannot be executed, and the next step. Loaded only when needed.

Names values but never shows them: they may be secrets."""

from __future__ import annotations

import difflib
import errno
import os
import shlex

from dataflow.errors import BadInput, CannotExecute, DataFlowError


def missing_command(argv0: str, cwd: str, directories: list[str]) -> CannotExecute:
    """Return the error (127) for a command that does not exist, with the nearest name that does."""
    folder, name = os.path.split(argv0)
    if folder:
        looked = f'no such file in "{os.path.abspath(os.path.join(cwd, folder))}"'
        names = {entry: os.path.join(folder, entry) for entry in _list_files(folder)}
    else:
        looked = f'neither on PATH nor in "{cwd}"'
        names = {entry: entry for part in directories for entry in _list_files(part)}
        names |= {entry: f"./{entry}" for entry in _list_files(cwd)}
    nearest = difflib.get_close_matches(name, names, n=1)
    hint = f'Did you mean "{names[nearest[0]]}"?' if nearest else "Check the name, or give its path."
    return CannotExecute(f'Command "{argv0}" not found: {looked}. {hint}', exit_code=127)


def cannot_spawn(error: OSError | ValueError, argv: list[str], environment: dict[str, str]) -> DataFlowError:
    """Return the error for a command that exists but cannot be started."""
    if isinstance(error, ValueError):
        return _unusable_value(error, argv, environment)
    path = argv[0]
    if error.errno == errno.ENOTDIR or (error.errno == errno.ENOENT and not os.path.lexists(path)):
        return missing_command(path, ".", [])
    quoted = shlex.quote(path)
    if error.errno == errno.ENOENT:
        reason = _explain_not_found(path, quoted)
    elif error.errno == errno.EACCES:
        reason = _explain_denied(path, quoted)
    elif error.errno == errno.E2BIG:
        reason = _explain_too_big(argv, environment)
    elif error.errno == errno.ENOEXEC:
        reason = f"it is built for another kind of machine, or damaged. Check: file {quoted}"
    elif error.errno == errno.ETXTBSY:
        reason = "another process is still writing it. Try again when the copy is complete."
    else:
        reason = f"{error.strerror}. Check: ls -l {quoted}"
    return CannotExecute(f'Cannot run "{path}": {reason}')


def find_obstacle(path: str) -> DataFlowError | None:
    """Return the error that starting a command would raise, as far as can be seen without starting it."""
    interpreter = _find_interpreter(path)
    for file in (path, interpreter):
        if file is None:
            continue
        if not os.path.exists(file):
            return cannot_spawn(FileNotFoundError(errno.ENOENT, ""), [path], {})
        if os.path.isdir(file) or not os.access(file, os.X_OK):
            return cannot_spawn(PermissionError(errno.EACCES, ""), [path], {})
    return None


def _unusable_value(error: ValueError, argv: list[str], environment: dict[str, str]) -> BadInput:
    for name, value in environment.items():
        if not name or "=" in name:
            return BadInput(f"{name!r} cannot be the name of an environment variable. Rename the item.")
        if not _is_passable(name) or not _is_passable(value):
            return BadInput(
                f"The environment variable {name!r} cannot be passed to a process: it contains a NUL or "
                "a character this locale cannot encode. Change its value, or set LC_ALL=C.UTF-8."
            )
    for number, argument in enumerate(argv):
        if not _is_passable(argument):
            return BadInput(
                f"Argument {number} contains a NUL or a character this locale cannot encode. Change it."
            )
    return BadInput(f'Cannot start "{argv[0]}": {error}.')


def _is_passable(value: str) -> bool:
    try:
        return b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def _explain_not_found(path: str, quoted: str) -> str:
    if not os.path.exists(path):
        return f'it is a link to "{os.readlink(path)}", which does not exist. Fix it: ls -l {quoted}'
    interpreter = _find_interpreter(path)
    if not interpreter:
        return f"the loader it names does not exist. Check: file {quoted}"
    if interpreter.endswith("\r"):
        return (
            f'it has Windows line endings, so its interpreter is "{interpreter[:-1]}\\r". '
            f"Convert it: sed -i 's/\\r$//' {quoted}"
        )
    return f'its interpreter "{interpreter}" does not exist. Fix the first line: head -1 {quoted}'


def _explain_denied(path: str, quoted: str) -> str:
    if os.path.isdir(path):
        return "it is a directory. Name the file to run."
    if not os.access(path, os.F_OK):
        return f"a folder in its path is not accessible. Check: namei -l {quoted}"
    if not os.access(path, os.X_OK):
        return f"it is not executable. Make it so: chmod +x {quoted}"
    interpreter = _find_interpreter(path)
    if interpreter and (os.path.isdir(interpreter) or not os.access(interpreter, os.X_OK)):
        return f'its interpreter "{interpreter}" is not executable. Fix the first line: head -1 {quoted}'
    return f"permission denied; its file system may be mounted noexec. Check: findmnt -T {quoted}"


def _explain_too_big(argv: list[str], environment: dict[str, str]) -> str:
    sizes = {name: len(os.fsencode(value)) for name, value in environment.items()}
    total = sum(len(os.fsencode(name)) + size + 2 for name, size in sizes.items())
    largest = max(sizes, key=lambda name: sizes[name], default="none")
    return (
        f"the environment ({total} bytes, of which {largest} has {sizes.get(largest, 0)}) and "
        f"{len(argv)} arguments are too large for the kernel. Shorten them, or try: RunJob --clean-env"
    )


def _find_interpreter(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            line = file.read(256).partition(b"\n")[0]
    except OSError:
        return None
    words = os.fsdecode(line[2:]).strip(" \t").split(" ")
    return words[0] if line.startswith(b"#!") and words[0] else None


def _list_files(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_file())
    except OSError:
        return []
