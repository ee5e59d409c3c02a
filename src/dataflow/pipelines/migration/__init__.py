"""Projects of the first Data Flow: what must change in their files, and the change; runs none of them."""
