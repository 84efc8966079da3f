"""Pure numbers: resampling over concept sets, intervals, and differences between two runs."""
