#!/usr/bin/env bash
# Compares two revisions, and leaves all of it in a fresh folder, the output `folder`: page, table, JUnit, every launch, and for whom.
# Ends well whatever was found: judge.sh decides at the end, after the comment and the upload.
set -euo pipefail
folder=$(mktemp -d "$RUNNER_TEMP/toll-XXXXXX")  # a job may compare twice
echo "folder=$folder" >> "$GITHUB_OUTPUT"

# A shallow clone has the head alone; all that is needed besides is the base's commit.
if ! git cat-file -e "$TOLL_BASE^{commit}" 2>/dev/null; then
    git fetch --quiet --no-tags --depth=1 origin "$TOLL_BASE"
fi

# Options are divided as a shell divides words, and nothing in them is expanded or run.
options=()
if [ -n "${TOLL_ARGUMENTS:-}" ]; then
    while IFS= read -r -d '' word; do options+=("$word"); done < <(xargs printf '%s\0' <<< "$TOLL_ARGUMENTS")
fi

code=0
toll compare --build "$TOLL_BUILD" --program "$TOLL_PROGRAM" \
    --threshold "$TOLL_THRESHOLD" --budget "$TOLL_BUDGET" --total-budget "$TOLL_TOTAL_BUDGET" \
    --markdown "$folder/comparison.md" --junit "$folder/comparison.xml" \
    --html "$folder/comparison.html" --raw "$folder/comparison.jsonl" \
    "${options[@]+"${options[@]}"}" "$TOLL_BASE" "$TOLL_HEAD" || code=$?

case $code in
    0) verdict=fine ;;
    1) verdict=regression ;;
    3) verdict=inconclusive ;;
    *) verdict=failed ;;
esac
{ echo "exit-code=$code"; echo "verdict=$verdict"; } >> "$GITHUB_OUTPUT"
[ -z "${TOLL_PULL_REQUEST:-}" ] || printf '%s\n' "$TOLL_PULL_REQUEST" > "$folder/pull-request"
# Not there where nothing could be compared at all; the log says why.
if [ -f "$folder/comparison.md" ]; then cat "$folder/comparison.md" >> "$GITHUB_STEP_SUMMARY"; fi
