"""What the commands of pipelines share: their packages, which may be missing, and their settings."""

from __future__ import annotations

from dataflow.config.packages import installed_packages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.cli.context import Context
    from dataflow.pipelines.declare.catalog import Catalog
    from dataflow.pipelines.declare.settings import PipelineSettings


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
