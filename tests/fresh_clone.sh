#!/usr/bin/env bash
# Starts toll as a stranger would: clones this checkout into an empty folder (with a space in its name), makes the
# Python environment with two starts at once, from another folder and through a symbolic link, then measures.
# Needs a network or pip's configured mirror; takes some minutes. `tests/fresh_clone.sh quick` stops before measuring.
set -euo pipefail
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(mktemp -d "${TMPDIR:-/tmp}/toll fresh.XXXXXX")
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED: $1" >&2; exit 1; }

git clone -q "$checkout" "$folder/clone"
ln -s "$folder/clone/toll" "$folder/toll link"
cd /
begin=$(date +%s)

echo "two starts at once make one environment"
"$folder/toll link" list --json >"$folder/first.json" & first=$!
"$folder/clone/toll" list --json >"$folder/second.json" & second=$!
wait "$first" || fail "the first start"
wait "$second" || fail "the second start"
cmp "$folder/first.json" "$folder/second.json" || fail "two starts disagree"

echo "a current environment needs no network"
if unshare --user --net true 2>/dev/null; then
    unshare --user --map-root-user --net "$folder/clone/toll" --version || fail "a start without network"
else
    echo "  not tried: this kernel lets nobody make a network namespace"
fi

echo "an install that was interrupted is done again"
rm "$folder/clone/.venv/toll-requirements.lock"
rm -r "$folder"/clone/.venv/lib/python3*/site-packages/typer
"$folder/clone/toll" --version || fail "the repaired environment"

if [ "${1:-}" != quick ]; then
    echo "the first table"
    (cd "$folder" && clone/toll run --budget 20s)
    ls "$folder"/runs/*.toll "$folder"/runs/*.html >/dev/null || fail "no run file or report"
    echo "from the clone to the first table: $(($(date +%s) - begin)) s"
fi
echo "fresh clone: passed"
