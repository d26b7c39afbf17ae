"""`python -m toll` is the command line."""

import sys

from toll.cli import main

sys.exit(main())
