"""Side by side with the peers, ratios from one run: ``python -m benchmarks``.

A module of this package that has a list `CASES` takes part.
"""
