"""Imports projects of the first Data Flow: finds and makes the changes to files without running them."""
