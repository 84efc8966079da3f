"""`python -m pytest_ocg.cli` is `ocg`."""

import sys

from pytest_ocg.cli import main

sys.exit(main())
