"""Whether a model may be released: results held against thresholds."""
