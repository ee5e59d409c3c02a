"""Why a notification was not sent."""

from __future__ import annotations


class NotSent(Exception):
    """The channel did not take a notification; says why, without secrets of its own making."""
