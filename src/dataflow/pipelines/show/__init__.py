"""What people see of pipelines: descriptions, plans, previews, queries and what the doctor finds of Spark."""
