#!/bin/sh
# Fails unless every input row is in the output.
set -eu
rows_in=$(wc -l < "$extracted_location")
rows_out=$(wc -l < "$loaded_location")
echo "check: $rows_in rows in, $rows_out rows out"
[ "$rows_in" -eq "$rows_out" ]
