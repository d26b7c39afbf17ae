#!/usr/bin/env bash
# Installs toll into an environment of its own: $TOLL is what pip is given. Its command goes on the PATH of the
# steps that follow.
set -euo pipefail
python -m venv "$RUNNER_TEMP/toll-venv"
"$RUNNER_TEMP/toll-venv/bin/python" -m pip install --quiet --disable-pip-version-check "$TOLL"
echo "$RUNNER_TEMP/toll-venv/bin" >> "$GITHUB_PATH"
