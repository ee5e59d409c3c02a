#!/bin/sh
# Copies one chunk of raw orders without the header. RunJob passes the dataid and both locations.
set -eu
sleep 0.05 # stands for real work
tail -n +2 "$orders_location" > "$extracted_location"
echo "extract $dataid $DATAFLOW_RUN_ID" >> ledger.txt # its last step; the demo counts these lines
