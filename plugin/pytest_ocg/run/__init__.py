"""From a plan to judged records: the cache, or a batch from a backend, and the verdict on each reply."""
