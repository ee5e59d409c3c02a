"""What a project declares: its files loaded, its classes and functions checked, as frozen definitions."""
