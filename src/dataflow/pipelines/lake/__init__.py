"""The lake: Parquet files under the project's folder or a shared one, given out by manifests."""
