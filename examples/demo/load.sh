#!/bin/sh
# Loads one chunk: every row gets the number of the run that loaded it.
set -eu
sed "s/\$/,run $DATAFLOW_RUN_ID/" "$extracted_location" > "$loaded_location"
echo "load $dataid $DATAFLOW_RUN_ID" >> ledger.txt
