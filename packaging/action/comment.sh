#!/usr/bin/env bash
# Comments the table on its pull request: comment.sh FOLDER, as compare.sh or an artifact of it left it.
# One comment a pull request: the one of this action is replaced.
#
# In a second workflow the folder comes from a stranger's pull request. Its number is only taken where it is one,
# and where the pull request's head is the commit that the first workflow ran for ($TOLL_HEAD_SHA).
set -euo pipefail
folder=$1
if [ ! -f "$folder/comparison.md" ]; then
    echo "nothing was compared: no comment"
    exit 0
fi
number=$(head -c 20 "$folder/pull-request" 2>/dev/null || true)
case $number in
    '') echo "no pull request: no comment"; exit 0 ;;
    *[!0-9]*) echo "::error::$folder/pull-request holds no number"; exit 2 ;;
esac
if [ -n "${TOLL_HEAD_SHA:-}" ]; then
    head=$(gh pr view "$number" --repo "$GITHUB_REPOSITORY" --json headRefOid --jq .headRefOid)
    if [ "$head" != "$TOLL_HEAD_SHA" ]; then
        echo "pull request $number is at $head and not at $TOLL_HEAD_SHA any more: no comment"
        exit 0
    fi
fi
# GitHub takes 65,536 characters; whoever wants the rest has the page among the artifacts. That it is cut stands below
# the mark: at the end it would be within what is folded there.
if [ "$(wc -c < "$folder/comparison.md")" -gt 60000 ]; then
    # iconv fails, having written all the rest, where the cut goes through a character.
    head -c 59000 "$folder/comparison.md" | { iconv -c -f utf-8 -t utf-8 2>/dev/null || true; } |
        sed '1s/$/\n\nThis is cut at its end: all of it is in the page among the artifacts.\n/' > "$folder/comment.md"
else
    cp "$folder/comparison.md" "$folder/comment.md"
fi
# Ours is our account's that begins with our mark: other workflows comment as the same bot. The token of a workflow
# may not ask who it is.
login=$(gh api user --jq .login 2>/dev/null) || login='github-actions[bot]'
comments=repos/$GITHUB_REPOSITORY/issues/$number/comments
before=$(COMMENTER=$login gh api --paginate "$comments" \
    --jq '.[] | select(.user.login == env.COMMENTER and (.body | startswith("<!-- toll compare -->"))) | .id')
before=${before##*$'\n'}
if [ -n "$before" ]; then
    gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$before" -F "body=@$folder/comment.md" > /dev/null
else
    gh api --method POST "$comments" -F "body=@$folder/comment.md" > /dev/null
fi
