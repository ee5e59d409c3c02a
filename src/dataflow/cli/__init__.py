"""The `dataflow` and `RunJob` commands: arguments in, talk on stderr, data on stdout. No rules live here."""
