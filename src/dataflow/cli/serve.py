"""`dataflow serve`: the operators' page and the REST API of a project."""

from __future__ import annotations

from dataflow.cli.options import Commands, whole
from dataflow.config.packages import installed_packages
from dataflow.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from dataflow.cli.context import Context

PORT = 8400


def add_parser(commands: Commands) -> None:
    """Adds `serve`."""
    parser = commands.add("serve", serve_project)
    help_text = "address to listen on, of this machine only (default: 127.0.0.1)"
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help=help_text)
    help_text = f"port to listen on; 0 for any that is free (default: {PORT})"
    parser.add_argument("--port", type=whole, default=PORT, metavar="N", help=help_text)


def serve_project(args: argparse.Namespace, context: Context) -> None:
    """Serves the operators' page and the REST API of the project until it is stopped. Prints the URL to open,
    with a token that only who sees it has.
    """
    if not 0 <= args.port <= 65535:
        raise UsageError(f"--port must be a number from 0 to 65535, got {args.port}.")
    with installed_packages("The server", "web"):
        from dataflow.api.project import Project
        from dataflow.api.server import serve
        from dataflow.web.pages import PAGES
    from dataflow.cli.main import version
    from dataflow.secrets.known import KnownSecrets
    from dataflow.secrets.passphrase import get_passphrase

    config, store = context.config, context.store
    secrets = KnownSecrets(*context.list_secrets(), config.passkey)

    def passphrase() -> str:  # no request waits for somebody at the terminal
        return get_passphrase(config.passkey, config.passkey_file, None)

    project = Project(config, context.environ, version(), store, passphrase, secrets)

    def announce(url: str) -> None:
        print(url, flush=True)
        context.say("Open this URL. It is for you only: whoever has it can act. To stop: Ctrl-C")

    serve(project, args.host, args.port, announce, PAGES)
