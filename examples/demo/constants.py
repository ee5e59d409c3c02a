"""What the pipelines use as `constants.NAME`."""

import os

# The API of the orders; orders_api.py in this folder serves it at the default address.
DATAHUB_BASE_URL = os.environ.get("DATAHUB_BASE_URL", "http://127.0.0.1:8765")
