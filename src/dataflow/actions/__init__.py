"""What one can do, a verb a file; built from the verbs of the store, used by every face."""
