"""Points where a test can stop the program, to prove that every crash leaves a recoverable state.

Armed by DATAFLOW_FAILPOINT=`place:action`; unarmed, reaching one costs a lookup in an empty dict.
Actions: `kill` (SIGKILL to this process), `stop` (SIGSTOP), `wait=PATH` (until the file PATH exists).
"""

from __future__ import annotations

import os
import signal
import time

PLACES = ("after_claim", "before_spawn", "after_spawn", "after_child_exit", "before_finish", "after_finish")
NOTIFY_PLACES = ("after_take", "after_send")
PIPELINE_PLACES = ("after_page", "after_fetch", "after_stage", "after_publish")

_armed: dict[str, str] = {}


def arm(text: str) -> None:
    """Arms the failpoints of a comma-separated list."""
    for item in filter(None, text.split(",")):
        place, _, action = item.partition(":")
        if place in PLACES + NOTIFY_PLACES + PIPELINE_PLACES:
            _armed[place] = action


def reach(place: str) -> None:
    """Performs the action armed for a place, if any."""
    action = _armed.get(place)
    if action is None:
        return
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif action.startswith("wait="):
        while not os.path.exists(action[5:]):
            time.sleep(0.01)
