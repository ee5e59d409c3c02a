"""PostgreSQL's functions, operators and casts in plain Python; knows neither SQL text nor Spark."""
