"""The files of a run, and the results computed from them: summaries, merged runs, comparisons."""
