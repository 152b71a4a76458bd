"""Tables in memory: NumPy, SciPy sparse, pandas, polars and Arrow."""
