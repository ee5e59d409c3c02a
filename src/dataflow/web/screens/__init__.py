"""The screens, each with the reads of the API that fill it."""
