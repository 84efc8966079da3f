"""One pytest session that runs the benchmark; with `plugin` the only code that imports pytest."""
