"""What rows are: batches of a table, its columns, labels, categories."""
