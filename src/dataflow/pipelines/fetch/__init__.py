"""Getting a source's data into part files. Nothing here knows of columns, Spark or a target."""
