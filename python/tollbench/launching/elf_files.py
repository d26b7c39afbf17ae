"""What reading a stranger's ELF file may end in, and its sections' bytes.

Tables of such a file may say anything: that a section is compressed and is not, that it lies beyond the end,
or that it has no bytes in the file and 2^60 in memory.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.construct.core import ConstructError

from tollbench.launching.answers import NONSENSE

# How pyelftools and whoever follows its tables stumble over nonsense, beside OSError.
DAMAGES = (ELFError, ConstructError, zlib.error, struct.error, AssertionError, *NONSENSE)
_COMPRESSED = 0x800  # SHF_COMPRESSED


def bytes_of(section: Any) -> bytes:
    """A section as it lies in the file. Raises ELFError where it does not."""
    header = section.header
    if header["sh_type"] == "SHT_NOBITS" or header["sh_flags"] & _COMPRESSED:
        raise ELFError(f"{section.name} is compressed, or has no bytes in it")
    section.stream.seek(0, os.SEEK_END)
    if header["sh_offset"] + header["sh_size"] > section.stream.tell():
        raise ELFError(f"{section.name} ends beyond it")
    found: bytes = section.data()
    return found
