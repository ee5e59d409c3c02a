"""What the pipelines use as `constants.NAME`."""

import os

# Where the orders come from; by itself, orders_api.py in this folder serves them there.
DATAHUB_BASE_URL = os.environ.get("DATAHUB_BASE_URL", "http://127.0.0.1:8765")
