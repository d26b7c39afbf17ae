"""`python tests/toll_test/audit.py` asks pip-audit about known vulnerabilities of what the lock files pin.

Exits 1 where one is known. Where pip-audit is not installed (`pipx install pip-audit`), or its database
cannot be reached, it says so and exits 0: it is another's service, and nothing of toll has failed.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    command = [tool, "--require-hashes", "--disable-pip", "--progress-spinner=off", "--format=json"]
    command += ["-r", str(ROOT / lock)]
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
    packages = _packages(done.stdout)
    unasked = sum("skip_reason" in each for each in packages)
    asked = len(packages) - unasked
    if not done.returncode and not asked:
        tell(f"skipped: {lock}: nobody knew any of its {unasked} packages, so that nothing was audited")
        return 0
    found = [
        f"{each['name']} {each['version']}: {', '.join(one['id'] for one in each['vulns'])}"
        for each in packages
        if each.get("vulns")
    ]
    told = f"{asked} packages audited, {unasked} not known to the database: {done.stderr.strip()}"
    told = "; ".join([told, *found])
    known = re.search(r"Found (\d+) known vulnerabilit", told)
    if done.returncode and not known and _UNREACHABLE.search(told):
        tell(f"skipped: {lock}: the database cannot be reached: {told.splitlines()[-1][:200]}")
        return 0
    tell(f"{lock}: {told}")
    return 1 if done.returncode else 0


def _packages(answer: str) -> list[dict[str, Any]]:
    """One for each pin: what is known against it, or why the database was not asked, which fails nothing."""
    try:
        return list(json.loads(answer)["dependencies"])
    except (ValueError, LookupError, TypeError):
        return []


if __name__ == "__main__":
    sys.exit(main(shutil.which("pip-audit")))
