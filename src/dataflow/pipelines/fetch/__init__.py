"""Fetches a source's data into part files. Nothing here knows about columns, Spark or the target."""
