"""The lake: Parquet files under the project's folder or a shared one, published by manifests."""
