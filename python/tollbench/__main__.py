"""`python -m tollbench` is the command line."""

import sys

from tollbench.cli import main

sys.exit(main())
