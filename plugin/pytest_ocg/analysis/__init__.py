"""The paper's tables and figures, and order bias: pure functions of rows and records."""
