"""Records, names and small rules that the other rooms hand to each other; imports only `shape`."""
