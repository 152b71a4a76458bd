"""A model at work: rows to scores, decisions, evaluations and files."""
