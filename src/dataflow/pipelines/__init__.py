"""Declarative pipelines and Python jobs on Spark. Nothing outside this package imports Spark or Arrow."""
