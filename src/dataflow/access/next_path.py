"""Where to go after a login: a path of this server and nothing else."""

from __future__ import annotations

LONGEST = 2000


def safe_next(text: str | None) -> str:
    """Return the path of `next=`, or `/` for everything that a browser could take for another server.

    Browsers read `//host`, `/\\host` and a path with tabs or line ends in it as an address of another server.
    """
    if not text or len(text) > LONGEST or not text.startswith("/"):
        return "/"
    if text.startswith("//") or "\\" in text or any(not 32 < ord(letter) < 127 for letter in text):
        return "/"
    return text
