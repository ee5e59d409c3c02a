#!/bin/sh
# Takes one chunk of raw orders and leaves the header out. RunJob says which chunk, where it is and where to write.
set -eu
sleep 0.05 # stands for real work
tail -n +2 "$orders_location" > "$extracted_location"
echo "extract $dataid $DATAFLOW_RUN_ID" >> ledger.txt # the last thing it does; the demo counts these lines
