"""The files that `dataflow init` writes."""

from __future__ import annotations

SETTINGS = """\
# A DataFlow project. Commands find this file from any folder below it. DATAFLOW_… variables override it.

# The status store: a SQLite file (default; one machine) or PostgreSQL (many machines).
# store = "sqlite:///.dataflow/dataflow.db"
# store = "postgresql://etl@dbhost:5432/dataflow"
# store_encryptedpass = "…"   # printed by: dataflow secret encrypt

# Recorded with every run; {environment} in locations.
environment = "dev"

# File (mode 600) with the passphrase for passwords, used when PASSKEY is not set.
# passkey_file = "/path/to/passkey"

# For pipelines: a database to write to or read from, and how to reach Spark (default: local).
#
# [connection.datasets_db]
# url = "postgresql://etl@dbhost:5432/datasets"
# encryptedpass = "…"   # printed by: dataflow secret encrypt --connection datasets_db
#
# [spark]
# master = "local[*]"
# options = { "spark.driver.memory" = "2g" }
"""
EMPTY = """
# Datasets and jobs, registered by: dataflow apply
#
# [dataset.bobin]
# location = "data/bobin/{dataid}.csv"
#
# [dataset.bobout]
#
# [job.loadbob]
# in = ["bobin"]
# out = ["bobout"]
"""
EXAMPLE = """
# Registered by: dataflow apply

[dataset.numbers]
location = "data/numbers/{dataid}.txt"
format = "text"

# {run_id} gives every run its own file, so readers see either the old version or the new one, complete.
[dataset.squares]
location = "data/squares/{dataid}/{run_id}.txt"
format = "text"
# Runs after the script. If it fails, the chunk is INVALID and no job reads it.
check = ["/bin/sh", "-c", 'test -s "$squares_location"']

[job.square]
in = ["numbers"]
out = ["squares"]
retries = 1
"""
SCRIPT = """\
#!/bin/sh
# DataFlow sets the dataid and the locations of the input and the output.
set -eu
echo "squaring chunk $dataid of $numbers_datasetid"
mkdir -p "$(dirname "$squares_location")"
while read -r number; do
    echo "$((number * number))"
done < "$numbers_location" > "$squares_location"
"""
NUMBERS = {"1": "1\n2\n3\n", "2": "10\n20\n30\n", "3": "7\n"}
PIPELINES = '''\
"""A dataset loaded from a file into the lake, and a view with one result per month."""

from datetime import datetime

from dataflow.pipelines.shape.checks import minimum_rows
from dataflow.pipelines.declare.sources import files


class OrdersDatasetPipeline:
    table_name = "orders"
    source = files("data/orders.jsonl")
    field_mapping = [
        ("reference", "order_reference", "character varying(20) PRIMARY KEY"),
        ("company.name", "company_name", "text NOT NULL"),
        ("subtotal", "subtotal", "numeric(12,2)"),
        ("completed_on", "completed_at", "timestamp with time zone"),
    ]
    checks = [minimum_rows(1)]


class MonthlyTotalsViewPipeline:
    view_name = "monthly_totals"
    dataset_pipeline = OrdersDatasetPipeline
    schedule_interval = "@monthly"
    start_date = datetime(2024, 1, 1)
    end_date = datetime(2024, 3, 1)
    catchup = True
    query = """
        SELECT company_name AS "Company", count(*) AS "Orders", sum(subtotal) AS "Total"
        FROM orders
        WHERE date_trunc('month', completed_at)::date = '{{ ds }}'::date
        GROUP BY company_name
        ORDER BY company_name
    """
'''
ORDERS = """\
{"reference": "A-1", "company": {"name": "Acme"}, "subtotal": "120.00", "completed_on": "2024-01-03T09:30Z"}
{"reference": "A-2", "company": {"name": "Bolt"}, "subtotal": "75.50", "completed_on": "2024-01-31T23:59:59Z"}
{"reference": "A-3", "company": {"name": "Acme"}, "subtotal": "10.10", "completed_on": "2024-02-01T00:00:00Z"}
{"reference": "A-4", "company": {"name": "Acme"}, "subtotal": "0.20", "completed_on": "2024-02-29T12:00:00Z"}
{"reference": "A-5", "company": {"name": "Crate"}, "subtotal": "990.00", "completed_on": "2024-03-15T08:00Z"}
{"reference": "A-6", "company": {"name": "Bolt"}, "subtotal": "24.50", "completed_on": null}
"""
