"""Configuration: where the store is, who we are, and what is declared in TOML; it opens no store."""
