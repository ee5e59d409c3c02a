"""All that imports pyspark: the session, and what runs in its tasks."""
