"""The routes of the API, a module per noun; each is a row of the table that `application` serves."""
