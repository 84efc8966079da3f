"""Which concepts a reply uses, and in which order."""
