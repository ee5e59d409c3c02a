"""Runs pipelines: the worker, one module per kind of run, and what only runs use."""
