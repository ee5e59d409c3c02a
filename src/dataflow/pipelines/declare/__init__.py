"""Loads a project's files and turns its classes and functions into checked, frozen definitions."""
