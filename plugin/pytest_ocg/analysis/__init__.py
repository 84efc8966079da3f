"""What the paper asks of results, and where a model's own order lies: pure functions of rows and records."""
