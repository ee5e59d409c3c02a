"""What the commands of pipelines share: their packages, which may be missing, and their settings."""

from __future__ import annotations

from contextlib import contextmanager

from dataflow.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dataflow.cli.context import Context
    from dataflow.pipelines.declare.catalog import Catalog
    from dataflow.pipelines.declare.settings import PipelineSettings


@contextmanager
def installed_packages(what: str) -> Iterator[None]:
    """Import packages of pipelines; ConfigError says what needs them if they are not installed."""
    try:
        yield
    except ImportError as error:
        raise ConfigError(
            f"{what} need{'s' * (not what.endswith('s'))} packages that are not installed ({error}). "
            "Install them: pip install '.[spark]' in the DataFlow checkout"
        ) from error


def load_catalog(context: Context) -> Catalog:
    """The project's pipelines; ConfigError if their packages are not installed."""
    with installed_packages("Pipelines"):
        from dataflow.pipelines.declare.catalog import Catalog
    return Catalog(context.config.project_dir, context.environ)


def get_settings(context: Context) -> PipelineSettings:
    """The settings of the project's pipelines; ConfigError if they are wrong."""
    with installed_packages("Pipelines"):
        from dataflow.pipelines.declare.settings import PipelineSettings
    return PipelineSettings(context.config.project_dir, context.environ, context.passphrase)
