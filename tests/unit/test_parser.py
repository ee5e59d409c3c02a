"""Usage lines for every kind of argument."""

from __future__ import annotations

import argparse

import pytest

from dataflow.cli.parser import Parser


@pytest.mark.parametrize(
    ("nargs", "shown"),
    [(None, "FILE"), ("?", "[FILE]"), ("*", "[FILE…]"), ("+", "FILE…"), (argparse.REMAINDER, "[FILE…]")],
)
def test_the_usage_shows_how_many_values_an_argument_takes(nargs: str | None, shown: str) -> None:
    parser = Parser(prog="demo")
    parser.add_argument("files", nargs=nargs, metavar="FILE")
    assert parser.format_usage() == f"usage: demo [options] {shown}\n"
