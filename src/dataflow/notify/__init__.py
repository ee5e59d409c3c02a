"""Tells people of incidents: channels of this machine, fed from the store's outbox."""
