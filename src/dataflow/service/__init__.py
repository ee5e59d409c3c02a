"""The worker: keeps all jobs of a project running that this machine has commands for."""
