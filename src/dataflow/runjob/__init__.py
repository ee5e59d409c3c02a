"""Wrap any executable: environment, guard, heartbeat, log. Nothing in here speaks SQL."""
