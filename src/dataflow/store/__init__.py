"""How state is kept: the verbs of the store over SQLite or PostgreSQL. The only SQL about our own state."""
