"""The actions of DataFlow, one verb per file; built from the store's verbs, used by every interface."""
