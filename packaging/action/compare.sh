#!/usr/bin/env bash
# Compares two revisions, and leaves all of it in a fresh folder, the output `folder`: page, table, JUnit, every launch, and for whom.
# Ends well whatever was found: judge.sh decides at the end, after the comment and the upload.
set -euo pipefail
folder=$(mktemp -d "$RUNNER_TEMP/toll-XXXXXX")  # a job may compare twice
echo "folder=$folder" >> "$GITHUB_OUTPUT"

# refuse REASON: nothing can be compared, which the outputs tell too.
refuse() {
    echo "::error::${1//$'\n'/ }"
    { echo "exit-code=2"; echo "verdict=failed"; } >> "$GITHUB_OUTPUT"
    exit 0
}

if ! why=$(git rev-parse --git-dir 2>&1 > /dev/null); then refuse "$why"; fi

commit_of() { git rev-parse --verify --quiet "$1^{commit}" 2>/dev/null; }

is_shallow() { [ "$(git rev-parse --is-shallow-repository)" = true ]; }

# find_revision INPUT REVISION: $found is the revision as it was written, where the clone has it, or its commit, fetched.
# A shallow clone has the commit that was checked out alone: neither other branches nor what came before.
find_revision() {
    local input=$1 name steps commit depth=() more
    case $2 in
        '' | [-+~^]* | *:*) refuse "$input: '$2' is no revision" ;;
    esac
    found=$2
    if commit_of "$2" > /dev/null; then return; fi
    name=${2%%[~^]*} steps=${2#"${2%%[~^]*}"}
    case $steps in
        *[!~^0-9]*) refuse "$input: '$2' is no revision" ;;  # before a long history is fetched for it
    esac
    if ! commit=$(commit_of "$name"); then
        if is_shallow; then depth=(--depth=1); fi  # of a whole clone it would cut the history off
        git fetch --quiet --no-tags "${depth[@]+"${depth[@]}"}" origin "${name#origin/}" ||
            refuse "$input: '$2' is not in the clone, and its origin has no such branch, tag or full commit"
        commit=$(commit_of FETCH_HEAD) || refuse "$input: '$2' is no commit"
    fi
    for more in 0 10 1000 1000000; do
        if [ "$more" -gt 0 ] && is_shallow; then
            git fetch --quiet --no-tags --deepen="$more" origin "$commit" || break
        fi
        if found=$(commit_of "$commit$steps"); then return; fi
    done
    refuse "$input: '$2' is no revision"
}

# The commit of a pull request that is checked out is a merge into its base as it is now. What others have merged since
# the event was written is on both sides then, and is nothing that this pull request did.
base=${TOLL_BASE:-${TOLL_EVENT_BASE:-}}
head=${TOLL_HEAD:-HEAD}
if [ -z "${TOLL_BASE:-}" ] && [ -n "${TOLL_EVENT_HEAD:-}" ]; then
    # The commit itself: in a shallow clone git takes it for one without parents.
    parents=$(git cat-file commit "$head^{commit}" 2>/dev/null | sed -n '1,/^$/s/^parent //p') || parents=""
    case $parents in
        *$'\n'"$TOLL_EVENT_HEAD") base=${parents%%$'\n'*} ;;
    esac
fi
case $base in
    *[!0]*) ;;
    *) refuse "no base to compare with: a branch's first push has none, nor has what neither a push nor a pull request started; name one: base" ;;
esac
find_revision base "$base"
base=$found
find_revision head "$head"
head=$found

# Options are divided as a shell divides words, and nothing in them is expanded or run.
options=()
if ! why=$(xargs -r printf '%s\0' <<< "${TOLL_ARGUMENTS:-}" 2>&1 > "$folder/options"); then
    rm -f "$folder/options"
    refuse "arguments: '${TOLL_ARGUMENTS:-}' cannot be divided into words: $why"
fi
while IFS= read -r -d '' word; do options+=("$word"); done < "$folder/options"
rm "$folder/options"

code=0
toll compare --build "$TOLL_BUILD" --program "$TOLL_PROGRAM" \
    --threshold "$TOLL_THRESHOLD" --budget "$TOLL_BUDGET" --total-budget "$TOLL_TOTAL_BUDGET" \
    "${options[@]+"${options[@]}"}" \
    --markdown "$folder/comparison.md" --junit "$folder/comparison.xml" \
    --html "$folder/comparison.html" --raw "$folder/comparison.jsonl" "$base" "$head" || code=$?

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
