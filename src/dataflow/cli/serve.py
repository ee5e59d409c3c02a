"""`dataflow serve`: the page and the REST API of a project."""

from __future__ import annotations

from dataflow.cli.options import Commands, whole
from dataflow.config.packages import installed_packages
from dataflow.config.server_values import DEFAULT_HOST, DEFAULT_PORT
from dataflow.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from dataflow.cli.context import Context
    from dataflow.config.server import ServerSettings


def add_parser(commands: Commands) -> None:
    """Adds `serve`."""
    parser = commands.add("serve", serve_project)
    help_text = f"address to listen on (default: that of [server] in dataflow.toml, else {DEFAULT_HOST})"
    parser.add_argument("--host", metavar="ADDRESS", help=help_text)
    help_text = f"port to listen on; 0 for any that is free (default: that of [server], else {DEFAULT_PORT})"
    parser.add_argument("--port", type=whole, metavar="N", help=help_text)


def serve_project(args: argparse.Namespace, context: Context) -> None:
    """Serves the page and the REST API of the project until it is stopped. Prints the URL to open; without a
    login it has a token that only you see.
    """
    settings = _choose_settings(args, context)

    def announce(url: str) -> None:
        print(url, flush=True)
        secret = "" if settings.requires_login else " It is for you only: whoever has it can act."
        context.say(f"Open this URL.{secret} To stop: Ctrl-C")

    run_server(context, settings, announce)


def run_server(context: Context, settings: ServerSettings, announce: Callable[[str], None]) -> None:
    """Serves the project until SIGINT or SIGTERM; `announce` gets the URL once requests are taken."""
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
    serve(project, settings, announce, PAGES)


def _choose_settings(args: argparse.Namespace, context: Context) -> ServerSettings:
    """The settings of the server: flags, then variables, then [server]."""
    from dataflow.config.server import load_server_settings
    from dataflow.model.record import replace

    if args.port is not None and not 0 <= args.port <= 65535:
        raise UsageError(f"--port must be a number from 0 to 65535, got {args.port}.")
    found = load_server_settings(context.config.project_dir, context.environ)
    port = found.port if args.port is None else args.port
    return replace(found, host=args.host or found.host, port=port)
