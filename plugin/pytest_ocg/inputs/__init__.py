"""The inputs of a run: concept sets, prompts, cases, models, and the published numbers of the paper."""
