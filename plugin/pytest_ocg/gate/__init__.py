"""Whether a model may be released: results compared with thresholds."""
