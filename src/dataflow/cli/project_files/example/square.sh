#!/bin/sh
# DataFlow sets the dataid and the locations of the input and the output.
set -eu
echo "squaring chunk $dataid of $numbers_datasetid"
mkdir -p "$(dirname "$squares_location")"
while read -r number; do
    echo "$((number * number))"
done < "$numbers_location" > "$squares_location"
