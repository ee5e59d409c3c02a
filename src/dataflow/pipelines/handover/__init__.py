"""Records, names and small rules shared by the other packages; imports only `shape`."""
