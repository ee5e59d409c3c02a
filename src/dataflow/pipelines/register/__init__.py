"""Registers pipelines as datasets and jobs of the store: intervals, and the location of each result."""
