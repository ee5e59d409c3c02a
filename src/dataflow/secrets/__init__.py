"""Passwords at rest, the passphrase that opens them, and their removal from captured output.

Nothing here reads the environment, the store or the terminal: values and prompts are passed in.
"""
