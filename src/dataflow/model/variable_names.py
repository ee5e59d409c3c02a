"""Which variables of a script the store may set; all others are set by files on the worker alone.

The rule lists what is allowed, because nobody can list all variables from which some loader, shell,
interpreter or tool takes code, files or hosts: LD_PRELOAD, BASH_ENV, PATH, TAR_OPTIONS, KUBECONFIG and more.
POSIX leaves names in lower case to applications; programs known to read such names all the same are excepted.
"""

from __future__ import annotations

import re

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LOWER_CASE = re.compile(r"[a-z][a-z0-9_]*")
# Proxies see passwords pass; npm and its kin, fish and rvm take commands and folders of code.
_READ_BY_PROGRAMS = re.compile(r"[a-z0-9]+_proxy(_.*)?|(npm|pnpm|yarn|fish|rvm)_.*")


def is_variable_name(name: str) -> bool:
    """Whether a shell can use a variable of that name."""
    return _VARIABLE.fullmatch(name) is not None


def may_come_from_store(name: str) -> bool:
    """Whether a variable of that name means nothing to any program but the job's own."""
    return _LOWER_CASE.fullmatch(name) is not None and _READ_BY_PROGRAMS.fullmatch(name) is None
