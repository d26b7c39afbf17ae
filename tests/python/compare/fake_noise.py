"""The noise of stand-ins, drawn by the number of their launch where the tests ask for it.

Where every run of the tests drew anew, one in some dozen called two equal sides different, as it may at 95 %.
"""

import os
import random


def seed_by_launch() -> None:
    """Of the standard generator, by a file that grows by a byte a launch; nothing where none is named."""
    if path := os.environ.get("TOLL_FAKE_LAUNCHES"):
        with open(path, "ab") as launches:  # noqa: PTH123  one write, so that launches at once differ
            launches.write(b".")
            launches.flush()
            random.seed(launches.tell())
