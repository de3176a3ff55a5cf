"""Tasks: which rows are support and which query, how they compare, and the loss of them all."""
