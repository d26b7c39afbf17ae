"""What not every system has: toll measures on Linux, and shows runs on others, where this imports too."""

from __future__ import annotations

import os
from typing import Final

O_NOFOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
O_NONBLOCK: Final[int] = getattr(os, "O_NONBLOCK", 0)
O_CLOEXEC: Final[int] = getattr(os, "O_CLOEXEC", 0)
O_DIRECTORY: Final[int] = getattr(os, "O_DIRECTORY", 0)
O_NOCTTY: Final[int] = getattr(os, "O_NOCTTY", 0)
O_PATH: Final[int] = getattr(os, "O_PATH", os.O_RDONLY)  # Linux's alone; reading does on others

# Whether files can be made inside a folder that is held open, which all writing here rests on.
WRITES_SAFELY: Final = os.open in os.supports_dir_fd
