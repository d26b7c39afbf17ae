"""`python tests/toll_test/audit.py` asks pip-audit about known vulnerabilities of what the lock files pin.

Exits 1 where one is known. Where pip-audit is not installed (`pipx install pip-audit`), or its database
cannot be reached, it says so and exits 0: it is another's service, and nothing of toll has failed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.lock", "requirements-test.lock")
_LIMIT_S = 300.0
_UNREACHABLE = re.compile(
    r"ConnectionError|Connection refused|Max retries|timed out|resolve|ServiceError|HTTPError"
)

Tell = Callable[[str], None]


def main(tool: str | None, tell: Tell = print) -> int:
    """0 where nothing is known against any pin, or nobody could be asked; else 1."""
    if tool is None:
        tell("skipped: pip-audit is not installed; pipx install pip-audit brings it")
        return 0
    return max(_audited(tool, lock, tell) for lock in LOCKS)


def _audited(tool: str, lock: str, tell: Tell) -> int:
    command = [tool, "--require-hashes", "--disable-pip", "--progress-spinner=off", "-r", str(ROOT / lock)]
    try:
        done = subprocess.run(
            command,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        tell(f"skipped: {lock}: no answer within {_LIMIT_S:g} s")
        return 0
    told = (done.stdout + done.stderr).strip()
    known = re.search(r"Found (\d+) known vulnerabilit", told)
    if done.returncode and not known and _UNREACHABLE.search(told):
        tell(f"skipped: {lock}: the database cannot be reached: {told.splitlines()[-1][:200]}")
        return 0
    tell(f"{lock}: {told}")
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main(shutil.which("pip-audit")))
