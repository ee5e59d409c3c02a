"""The `dataflow` and `RunJob` commands: they parse arguments and print results. No rules live here."""
