"""Fetched bytes to typed Arrow batches, rejects, drift, statistics and checks; no Spark, no database."""
