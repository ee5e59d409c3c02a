"""Configuration: the store, the user, and what TOML files declare; it opens no store."""
