"""The page beside a worker: served by a process of its own, which ends with the worker and never slows it.

It is no child of the worker, whose runs tell their background processes by being children that nobody knows.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.cli.context import Context

START_SECONDS = 30.0
END_SECONDS = 10.0


class Page:
    """The process that serves the page, seen from the worker: it lives as long as its standard input."""

    def __init__(self, store: str | None, context: Context) -> None:
        self._context = context
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "dataflow.cli.page", *([store] if store else [])],
            cwd=context.cwd,
            env=dict(context.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the worker, which ends the page when it has drained
        )
        self._process.wait()  # it has left the server to the system

    def announce(self) -> None:
        """Say where the page is, or that there is none; why not, the server has said."""
        url = self._read(START_SECONDS)
        if url:
            self._context.say(f"Page: {url}")
        else:
            self._context.say("The page is not served. The worker works without it.")

    def close(self) -> None:
        """End the server and wait for its end."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._read(END_SECONDS)
        self._process.stdout.close()

    def _read(self, seconds: float) -> str:
        """Return the next line of the server; empty if it has ended, or says nothing for so long."""
        stream = self._process.stdout
        assert stream is not None
        is_readable = bool(select.select([stream], [], [], seconds)[0])
        return stream.readline().decode().strip() if is_readable else ""


def main(argv: list[str]) -> int:
    """Serve the page of the project in this folder until standard input ends; print its URL."""
    if os.fork():
        os._exit(0)
    import threading

    from dataflow.cli.context import Context
    from dataflow.cli.main import complain
    from dataflow.cli.serve import run_server
    from dataflow.config.server import load_server_settings
    from dataflow.errors import DataFlowError

    threading.Thread(target=_end_with_input, daemon=True).start()
    context = Context(argv[0] if argv else None, os.environ, os.getcwd(), makes_store=True)
    try:
        settings = load_server_settings(context.config.project_dir, context.environ)
        run_server(context, settings, lambda url: print(url, flush=True))
    except DataFlowError as error:
        return complain(error)
    finally:
        context.close()
    return 0


def _end_with_input() -> None:
    import signal

    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
