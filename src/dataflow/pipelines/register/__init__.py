"""Pipelines as the store's datasets and jobs: settings, intervals, and where each result goes."""
