"""Files of strangers for fuzzers: edits of a sound one, drawn and made smaller by Hypothesis.

How many are tried is TOLL_FUZZ_EXAMPLES for each reader (docs/security.md).
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("TOLL_FUZZ_EXAMPLES", "100"))
many = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False
)

# What stands where a value stood, whatever the format.
VALUES = [
    b"", b"null", b"true", b"-1", b"0", b"1e999", b"-1e999", b"NaN", b"Infinity", b"9" * 5000, b"[]", b"{}",
    b'""', b'"\\u0000"', b'"\\ud800"', b'"\\u202e\\u001b[2J"', b"[" * 2000, b'{"a":' * 500, b"\xff\xfe\x00",
    b"18446744073709551616", b"1.5", b'"nan"', b"nan", b"inf", b"'", b'"', b"=", b"\n", b"\\",
]  # fmt: skip
Edit = tuple[float, int, bytes]


def edits() -> st.SearchStrategy[list[Edit]]:
    """Where (a share of the file), how many bytes go, and what comes in their place."""
    inserted = st.one_of(st.sampled_from(VALUES), st.binary(max_size=8))
    return st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), inserted), min_size=1, max_size=6)


def edited(content: bytes, changes: Sequence[Edit]) -> bytes:
    """The file after these changes."""
    for share, gone, inserted in changes:
        place = int(share * len(content))
        content = content[:place] + inserted + content[place + gone :]
    return content


def with_tokens(content: bytes, tokens: Sequence[bytes], changes: Sequence[Edit]) -> bytes:
    """The file with whole tokens replaced: edits that a format's own syntax survives more often."""
    for share, number, inserted in changes:
        token = tokens[number % len(tokens)]
        places = [at for at in range(len(content)) if content.startswith(token, at)]
        if places:
            place = places[int(share * (len(places) - 1))]
            content = content[:place] + inserted + content[place + len(token) :]
    return content
