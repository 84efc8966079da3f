"""From a plan to judged records: replies from the cache or a backend, and the verdict on each reply."""
