"""The operators' page: views of what the API answers, rendered here, and a small script for what is live."""
