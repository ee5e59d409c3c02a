"""PostgreSQL's regular expressions: the syntax of its flavors, and its rules for choosing the match."""
