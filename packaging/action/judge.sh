#!/usr/bin/env bash
# Ends the job as toll compare ended: judge.sh CODE FOLDER. 1: a regression. 2: a side failed. 3: some are inconclusive,
# which should not stop anybody, where the comparison came to its end. Anything else, 70 for a bug of toll, judged nothing.
set -euo pipefail
code=$1
folder=$2
if [ "$code" -eq 3 ]; then
    if [ ! -f "$folder/comparison.md" ] || [ ! -f "$folder/comparison.xml" ]; then
        echo "::error::the comparison broke off: there is no table of it"
    elif grep -qF 'this is what was known by then' "$folder/comparison.md"; then
        echo "::error::the comparison ended early: what it had not measured by then was not judged"
    else
        echo "::warning::some benchmarks are inconclusive"
        code=0
    fi
fi
exit "$code"
