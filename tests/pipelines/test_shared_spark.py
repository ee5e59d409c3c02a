"""The tests' own Spark session survives a test that breaks it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BROKEN = """
import signal
from pyspark import SparkContext
from tests.pipelines.conftest import SharedSpark

class CutShort(BaseException):  # as the failure that a time limit raises
    pass

def cut_short(*_):
    raise CutShort

def ask():
    return shared.get_session().sql("select 1 + 1").first()[0]

shared = SharedSpark()
session = shared.get_session()
signal.signal(signal.SIGALRM, cut_short)
signal.setitimer(signal.ITIMER_REAL, 1)
try:
    session.sql("select count(*) from range(100000000000) where id % 7 > rand()").collect()
except CutShort:
    print("cut short", ask())
SparkContext._gateway.proc.kill()
print("killed", ask())
shared.close()
"""


def test_a_broken_session_is_started_again() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", BROKEN],
        cwd=root,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{root}:{root / 'src'}", "HOME": "/"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.splitlines() == ["cut short 2", "killed 2"], done.stderr
