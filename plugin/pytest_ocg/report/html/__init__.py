"""The report on a run as one HTML page."""
