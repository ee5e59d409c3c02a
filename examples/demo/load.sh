#!/bin/sh
# Loads one chunk and adds the run id to each row.
set -eu
sed "s/\$/,run $DATAFLOW_RUN_ID/" "$extracted_location" > "$loaded_location"
echo "load $dataid $DATAFLOW_RUN_ID" >> ledger.txt
