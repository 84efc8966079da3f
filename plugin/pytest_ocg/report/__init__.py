"""Tables and reports: each file renders results that were computed elsewhere."""
