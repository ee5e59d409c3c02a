"""The REST API: one table of routes over the actions, served by Starlette and uvicorn."""
