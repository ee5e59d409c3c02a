"""Which boot of this machine it is: what was claimed before the last one is dead."""

from __future__ import annotations


def boot_id() -> str:
    """Names the present boot of this machine."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as source:
            return source.read().strip()
    except OSError:
        return "unknown"
