"""Shows pipelines to people: descriptions, plans, previews, queries and the Spark checks of the doctor."""
