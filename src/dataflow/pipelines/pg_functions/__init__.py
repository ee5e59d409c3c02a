"""PostgreSQL's functions, operators and casts in plain Python, independent of SQL text and Spark."""
