"""Everything that imports pyspark: the session, and the code that runs in its tasks."""
