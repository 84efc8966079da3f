"""One pytest session that runs the benchmark. Only this room and `plugin` import pytest."""
