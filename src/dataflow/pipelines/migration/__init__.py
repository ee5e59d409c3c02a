"""Imports projects of the first Data Flow: finds and makes the changes to their files without running them."""
