"""A run for other tools: Parquet, CSV, JSON and Google Benchmark's JSON; raw replicates, streamed."""
