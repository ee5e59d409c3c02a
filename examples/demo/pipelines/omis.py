"""Two pipelines: a dataset with all orders of an API, and a view with one result per month.

`constants` (from constants.py) and `datetime` need no import. Classes are recognised by their names.
Change something, then: dataflow pipeline plan CompletedOMISOrderViewPipeline
"""


class OMISDatasetPipeline:
    # Name of the target table
    table_name = "omis_dataset"
    # URL of the source API; HAWK_ID and HAWK_KEY in the environment sign the requests
    source_url = "{}/v4/dataset/omis-dataset".format(constants.DATAHUB_BASE_URL)
    # Target database: a connection in dataflow.toml
    target_db = "datasets_db"
    # First interval
    start_date = datetime(2018, 11, 1)
    # Maps fields of the source to columns of the target: (source field, column, type and constraints)
    field_mapping = [
        ("reference", "omis_order_reference", "character varying(100) PRIMARY KEY"),
        ("company__name", "company_name", "character varying(255) NOT NULL"),
        ("dit_team__name", "dit_team", "character varying(255)"),
        ("subtotal", "subtotal", "integer"),
        ("uk_region__name", "uk_region", "text"),
        ("market__name", "market", "text"),
        ("sector__name", "sector", "text"),
        ("services", "services", "text []"),
        ("delivery_date", "delivery_date", "date"),
        ("payment_received_date", "payment_received_date", "date"),
        ("completed_on", "completion_date", "timestamp with time zone"),
        ("cancellation_reason__name", "cancellation_reason", "text"),
        ("status", "order_status", "text NOT NULL"),
    ]


class CompletedOMISOrderViewPipeline:
    view_name = "completed_omis_orders"
    dataset_pipeline = OMISDatasetPipeline
    start_date = datetime(2017, 11, 1)
    end_date = datetime(2018, 10, 1)
    catchup = True
    fields = [
        ("company_name", "Company Name"),
        ("dit_team", "DIT Team"),
        ("subtotal::numeric/100", "Subtotal"),
        ("uk_region", "UK Region"),
        ("market", "Market"),
        ("sector", "Sector"),
        ("services", "Services"),
        ("delivery_date", "Delivery Date"),
        ("payment_received_date", "Payment Received Date"),
        ("completion_date", "Completion Date"),
    ]
    where_clause = """
        order_status = 'complete' AND
        date_trunc('month', completion_date)::DATE =
            date_trunc('month', to_date('{{ ds }}', 'YYYY-MM-DD'));
    """
    schedule_interval = "@monthly"
