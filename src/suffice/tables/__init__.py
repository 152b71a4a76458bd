"""Tables: batches of rows, columns, labels and categories."""
