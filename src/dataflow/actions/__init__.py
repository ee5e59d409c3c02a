"""The actions of DataFlow; built from the store's verbs, used by every interface."""
