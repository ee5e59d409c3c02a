"""Pipelines whose rows go from Spark's tasks into a database: a dataset's, and a view's of the lake."""

PIPELINES = """
    class OrdersDatasetPipeline:
        table_name = "orders"
        source_url = constants.API + "/next"
        target_db = "warehouse"
        field_mapping = [("id", "order_id", "bigint"), ("name", "name", "text")]

    class LocalDatasetPipeline(OrdersDatasetPipeline):
        table_name = "local_orders"
        target_db = "lake"

    class NamesViewPipeline:
        view_name = "names"
        dataset_pipeline = LocalDatasetPipeline
        target_db = "warehouse"
        start_date = datetime(2026, 10, 1)
        end_date = datetime(2026, 10, 1)
        catchup = True
        schedule_interval = "@monthly"
        fields = [("upper(name)", "name")]
"""
