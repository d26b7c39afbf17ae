"""The GitHub Action's shell parts run here, on real revisions; stand-ins for `gh` and `toll` take notes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from checkouts import ROOT
from tollbench.compare import Comparisons
from tollbench.report.comparisons import comparison_markdown

PARTS = ROOT / "packaging/action"
GH = """#!/bin/sh
printf '%s\\n' "$*" >> "$GH_LOG"
[ "$2" != user ] || { [ -n "${GH_LOGIN:-}" ] && echo "$GH_LOGIN"; exit; }
for word; do case $word in body=@*) cat "${word#body=@}" > "$GH_LOG.body" ;; esac; done
[ "$2" != --paginate ] || [ -z "${GH_COMMENTS:-}" ] || { printf '%s' "$GH_COMMENTS" | jq -r "$5"; }
[ "$2" != view ] || echo "$GH_HEAD"
"""
TOLL = """#!/bin/sh
printf '%s\\n' "$@" > "$TOLL_LOG"
while [ $# -gt 0 ]; do
    case $1 in --markdown) echo "| table |" > "$2" ;; --html) echo page > "$2" ;; esac
    shift
done
exit "$TOLL_CODE"
"""


@pytest.fixture
def place(tmp_path):
    """A runner: its folders, and programs that stand in for gh and toll."""
    for name, text in (("gh", GH), ("toll", TOLL)):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(text)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "temp").mkdir()
    return tmp_path


def part(place: Path, name: str, *words: str, cwd: Path | None = None, **variables: str):
    return subprocess.run(
        ["bash", str(PARTS / name), *words],
        cwd=cwd or place,
        env={
            "PATH": f"{place}/bin:{os.environ['PATH']}",
            "HOME": str(place),
            "RUNNER_TEMP": str(place / "temp"),
            "GITHUB_OUTPUT": str(place / "output"),
            "GITHUB_STEP_SUMMARY": str(place / "summary"),
            "GITHUB_PATH": str(place / "path"),
            "GITHUB_REPOSITORY": "somebody/project",
            "GH_LOG": str(place / "gh.log"),
            "TOLL_LOG": str(place / "toll.log"),
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def server(place: Path) -> Path:
    """A repository without commits, from which any commit may be fetched, as from GitHub."""
    origin = place / "origin"
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")
    return origin


@pytest.fixture
def shallow(place):
    """A clone as actions/checkout makes it: the head alone. With the base's commit, which is not in it."""
    origin = server(place)
    for content in ("old", "new"):
        (origin / "file").write_text(content)
        git(origin, "add", ".")
        git(origin, "commit", "-q", "-m", content)
    git(place, "clone", "-q", "--depth=1", f"file://{origin}", "project")
    return place / "project", git(origin, "rev-parse", "HEAD~1")


@pytest.fixture
def pulled(place):
    """A clone of what a pull request's workflow checks out, the merge of its head into a base that others
    have gone on with since the event; with the base at the event, the base now and the head."""
    origin = server(place)
    commits = {}
    for name, branch in (("then", "main"), ("head", "mine"), ("now", "main")):
        if name != "then":
            git(origin, "switch", "-q", *(["-c"] if name == "head" else []), branch)
        (origin / name).touch()
        git(origin, "add", ".")
        git(origin, "commit", "-q", "-m", name)
        commits[name] = git(origin, "rev-parse", "HEAD")
    git(origin, "switch", "-q", "--detach")
    git(origin, "merge", "-q", "-m", "Merge mine into main\n\nparent 0", "mine")
    git(origin, "update-ref", "refs/pull/7/merge", "HEAD")
    project = place / "project"
    git(place, "init", "-q", "project")
    git(project, "remote", "add", "origin", f"file://{origin}")
    git(project, "fetch", "-q", "--depth=1", "origin", "refs/pull/7/merge")
    git(project, "checkout", "-q", "--detach", "FETCH_HEAD")
    git(origin, "switch", "-q", "main")
    return project, commits


def compared(place: Path, project: Path, **variables: str) -> list[str]:
    """The commits of the two revisions that toll was given; none where it was not started."""
    (place / "toll.log").unlink(missing_ok=True)
    given = {"TOLL_ARGUMENTS": "", "TOLL_CODE": "0", **WANTED, **variables}
    done = part(place, "compare.sh", cwd=project, **given)
    assert done.returncode == 0, done.stderr
    if not (place / "toll.log").exists():
        assert done.stdout.startswith("::error::")
        assert (place / "output").read_text().endswith("exit-code=2\nverdict=failed\n")
        return []
    sides = (place / "toll.log").read_text().splitlines()[-2:]
    return [git(project, "rev-parse", f"{side}^{{commit}}") for side in sides]


def test_a_pull_request_is_compared_with_what_it_was_merged_into(place, pulled):
    project, commits = pulled
    event = {"TOLL_EVENT_BASE": commits["then"], "TOLL_EVENT_HEAD": commits["head"]}
    merge = git(project, "rev-parse", "HEAD")
    assert compared(place, project, **event) == [commits["now"], merge]
    assert compared(place, project, **event, TOLL_BASE=commits["head"]) == [commits["head"], merge]
    other = compared(place, project, **event | {"TOLL_EVENT_HEAD": commits["now"]})
    assert other == [commits["then"], merge]  # HEAD is no merge of this head
    git(project, "fetch", "-q", "--depth=1", "origin", commits["head"])
    git(project, "checkout", "-q", "--detach", commits["head"])  # as `ref:` of the checkout may say
    assert compared(place, project, **event) == [commits["then"], commits["head"]]


@pytest.fixture
def history(place):
    """A shallow clone of the last of four commits, of which the second has a tag; with all of them."""
    origin = server(place)
    for number in range(4):
        git(origin, "commit", "-q", "--allow-empty", "-m", f"commit {number}")
        if number == 1:
            git(origin, "tag", "-a", "-m", "a tag", "v1.0")
    commits = git(origin, "rev-list", "--reverse", "HEAD").split()
    git(origin, "switch", "-q", "-c", "topic")
    git(origin, "commit", "-q", "--allow-empty", "-m", "topic")
    git(place, "clone", "-q", "--depth=1", f"file://{origin}", "project")  # of topic
    return place / "project", [*commits, git(origin, "rev-parse", "topic")]


@pytest.mark.parametrize(
    ("base", "commit"),
    [("main", 3), ("origin/main", 3), ("v1.0", 1), ("HEAD~1", 3), ("HEAD^^", 2), ("main~3", 0), ("v1.0^", 0)],
)
@pytest.mark.parametrize("depth", [1, None])
def test_a_base_is_a_branch_a_tag_or_steps_back_from_one(place, history, base, commit, depth):
    project, commits = history
    if depth is None:
        git(project, "fetch", "-q", "--unshallow")
    assert compared(place, project, TOLL_BASE=base) == [commits[commit], commits[-1]]
    if depth is None:
        assert git(project, "rev-list", "--count", "HEAD") == "5"  # nothing was cut off


def test_a_head_is_fetched_too(place, history):
    project, commits = history
    assert compared(place, project, TOLL_BASE="v1.0", TOLL_HEAD="main") == [commits[1], commits[3]]
    assert compared(place, project, TOLL_BASE="main", TOLL_HEAD="main~1") == [commits[3], commits[2]]
    assert compared(place, project, TOLL_BASE="HEAD~1", TOLL_HEAD="") == [commits[3], commits[4]]


@pytest.mark.parametrize(
    "base",
    ["", "0" * 40, "nobody", "HEAD~9", "--all", "main:refs/heads/x", "abc1234", "~1", "^main", "main^{tree}"],
)
def test_a_base_that_is_none_is_told_with_the_code_of_a_failed_side(place, history, base):
    project, _ = history
    assert compared(place, project, TOLL_BASE=base, TOLL_EVENT_BASE=base) == []
    assert part(place, "judge.sh", "2", str(left(place))).returncode == 2


def test_a_head_that_is_none_is_told(place, history):
    assert compared(place, history[0], TOLL_BASE="main", TOLL_HEAD="nobody") == []


def test_options_that_no_shell_would_divide_are_refused(place, history):
    project, _ = history
    assert compared(place, project, TOLL_BASE="main", TOLL_ARGUMENTS="--confirm --filter don't") == []


def test_a_table_that_arguments_ask_for_is_still_the_action_s(place, history):
    project, _ = history
    assert compared(place, project, TOLL_BASE="main", TOLL_ARGUMENTS="--junit mine.xml --markdown mine.md")
    called = (place / "toll.log").read_text().splitlines()
    last = {word: called[at + 1] for at, word in enumerate(called) if word in ("--junit", "--markdown")}
    assert last == {
        "--junit": str(left(place) / "comparison.xml"),
        "--markdown": str(left(place) / "comparison.md"),
    }


def test_without_a_repository_git_s_own_reason_is_told(place):
    done = part(place, "compare.sh", cwd=place, TOLL_BASE="main", TOLL_ARGUMENTS="", **WANTED)
    assert "not a git repository" in done.stdout
    assert "exit-code=2" in (place / "output").read_text()


@pytest.mark.parametrize("arguments", ["", " ", "\n"])
def test_no_options_are_no_side(place, history, arguments):
    project, commits = history
    assert compared(place, project, TOLL_BASE="main", TOLL_ARGUMENTS=arguments) == [commits[3], commits[4]]
    called = (place / "toll.log").read_text().splitlines()
    assert called[-3].endswith("comparison.jsonl")
    assert not (left(place) / "options").exists()


def left(place: Path) -> Path:
    """The one folder that a comparison left."""
    (folder,) = (place / "temp").iterdir()
    return folder


WANTED = {
    "TOLL_BUILD": "make a b",
    "TOLL_PROGRAM": "./b",
    "TOLL_HEAD": "HEAD",
    "TOLL_THRESHOLD": "0.03",
    "TOLL_BUDGET": "30s",
    "TOLL_TOTAL_BUDGET": "15m",
}


@pytest.mark.parametrize(
    ("code", "verdict"), [("0", "fine"), ("1", "regression"), ("2", "failed"), ("3", "inconclusive")]
)
def test_two_revisions_of_a_shallow_clone_are_compared(place, shallow, code, verdict):
    project, base = shallow
    words = {"TOLL_ARGUMENTS": "--confirm --filter 'a b|$HOME'", "TOLL_PULL_REQUEST": "7", "TOLL_CODE": code}
    done = part(place, "compare.sh", cwd=project, TOLL_BASE=base, **WANTED, **words)
    assert done.returncode == 0, done.stderr
    git(project, "cat-file", "-e", f"{base}^{{commit}}")  # it was fetched
    called = (place / "toll.log").read_text().splitlines()
    assert called[:5] == ["compare", "--build", "make a b", "--program", "./b"]
    assert called[-14:-9] == ["15m", "--confirm", "--filter", "a b|$HOME", "--markdown"]
    assert called[-2:] == [base, "HEAD"]
    folder = place / "temp" / left(place).name
    assert (place / "output").read_text() == f"folder={folder}\nexit-code={code}\nverdict={verdict}\n"
    assert (place / "summary").read_text() == "| table |\n"
    assert (folder / "pull-request").read_text() == "7\n"
    assert (folder / "comparison.html").exists()


def test_without_further_options_and_without_a_pull_request(place, shallow):
    project, base = shallow
    done = part(place, "compare.sh", cwd=project, TOLL_BASE=base, TOLL_ARGUMENTS="", TOLL_CODE="0", **WANTED)
    assert done.returncode == 0, done.stderr
    assert not (left(place) / "pull-request").exists()
    part(place, "compare.sh", cwd=project, TOLL_BASE=base, TOLL_ARGUMENTS="", TOLL_CODE="0", **WANTED)
    assert len([*(place / "temp").iterdir()]) == 2  # a second use has a folder of its own


def result(place: Path, number: str = "7\n", table: str = "| table |\n") -> Path:
    folder = place / "result"
    folder.mkdir()
    (folder / "comparison.md").write_text(table)
    (folder / "pull-request").write_text(number)
    return folder


def test_the_table_is_commented_on_its_pull_request(place):
    done = part(place, "comment.sh", str(result(place)))
    assert done.returncode == 0, done.stderr
    called = (place / "gh.log").read_text().splitlines()
    assert called[-1].startswith("api --method POST repos/somebody/project/issues/7/comments -F body=@")
    assert (place / "gh.log.body").read_text() == "| table |\n"


MARK = "<!-- toll compare -->"
BOT = "github-actions[bot]"


@pytest.mark.skipif(shutil.which("jq") is None, reason="gh's own filter is jq's language")
@pytest.mark.parametrize(
    ("comments", "login", "calls"),
    [
        ([(1, BOT, f"{MARK}\nold"), (2, BOT, "a preview is at ...")], "", "PATCH issues/comments/1"),
        ([(1, BOT, f"{MARK}\nold"), (2, BOT, f"{MARK}\nnewer")], "", "PATCH issues/comments/2"),
        ([(1, BOT, "a preview"), (2, "stranger", f"{MARK}\nmine")], "", "POST issues/7/comments"),
        ([(1, BOT, f"{MARK}\nold"), (2, "own-bot", f"{MARK}\nold")], "own-bot", "PATCH issues/comments/2"),
    ],
)
def test_only_the_comment_of_this_action_is_replaced(place, comments, login, calls):
    listed = json.dumps([{"id": id_, "user": {"login": who}, "body": body} for id_, who, body in comments])
    done = part(place, "comment.sh", str(result(place)), GH_COMMENTS=listed, GH_LOGIN=login)
    assert done.returncode == 0, done.stderr
    method, what = calls.split()
    last = (place / "gh.log").read_text().splitlines()[-1]
    assert last.startswith(f"api --method {method} repos/somebody/project/{what} -F body=@")


def test_a_long_table_is_cut_where_github_would_refuse_it_and_says_so_outside_of_what_is_folded(place):
    table = f"{MARK}\n**answer**\n\n<details><summary>many more</summary>\n\n{'±' * 50_000}\n\n</details>\n"
    done = part(place, "comment.sh", str(result(place, table=table)))
    assert done.returncode == 0, done.stderr
    body = (place / "gh.log.body").read_bytes()
    assert len(body) < 60_000
    text = body.decode()
    notice = "This is cut at its end: all of it is in the page among the artifacts."
    assert text.startswith(f"{MARK}\n\n{notice}\n\n")
    assert "**answer**" in text


@pytest.mark.parametrize("number", ["7; touch /tmp/x\n", "$(id)\n", "--body\n", "7 8\n"])
def test_a_number_from_a_stranger_that_is_none_is_refused(place, number):
    done = part(place, "comment.sh", str(result(place, number)))
    assert done.returncode == 2
    assert not (place / "gh.log").exists()


def test_in_the_second_workflow_only_the_commit_that_was_compared_is_commented(place):
    folder = result(place)
    done = part(place, "comment.sh", str(folder), TOLL_HEAD_SHA="abc", GH_HEAD="other")
    assert done.returncode == 0
    assert "comments" not in (place / "gh.log").read_text()
    part(place, "comment.sh", str(folder), TOLL_HEAD_SHA="abc", GH_HEAD="abc")
    assert "POST repos/somebody/project/issues/7/comments" in (place / "gh.log").read_text()


def test_where_nothing_was_compared_nothing_is_commented(place):
    assert part(place, "comment.sh", str(place)).returncode == 0
    assert not (place / "gh.log").exists()


def told(place: Path, *, interrupted: bool = False) -> Path:
    """The folder of a comparison that found nothing to tell."""
    folder = place / "told"
    folder.mkdir()
    found = Comparisons(
        comparisons=(), kind="command", sides=("a", "b"), level=0.95, threshold=0.01, seconds=1.0,
        interrupted=interrupted, no_room="no room" if interrupted else "",
    )  # fmt: skip
    (folder / "comparison.md").write_text(comparison_markdown.render(found))
    (folder / "comparison.xml").write_text("<testsuites/>")
    return folder


@pytest.mark.parametrize(("code", "ends"), [("0", 0), ("1", 1), ("2", 2), ("3", 0), ("70", 70), ("130", 130)])
def test_the_job_ends_as_the_comparison_did_but_for_what_is_open(place, code, ends):
    done = part(place, "judge.sh", code, str(told(place)))
    assert done.returncode == ends
    assert ("::warning::" in done.stdout) is (code == "3")


@pytest.mark.parametrize("lacking", ["comparison.md", "comparison.xml"])
def test_a_comparison_that_broke_off_is_not_passed_as_open(place, lacking):
    folder = told(place)
    (folder / lacking).unlink()
    done = part(place, "judge.sh", "3", str(folder))
    assert done.returncode == 3
    assert done.stdout.startswith("::error::")


def test_a_comparison_that_ended_early_is_not_passed_as_open(place):
    done = part(place, "judge.sh", "3", str(told(place, interrupted=True)))
    assert done.returncode == 3
    assert done.stdout.startswith("::error::")


def test_every_part_that_the_action_names_is_there_and_can_be_parsed():
    text = (ROOT / "action.yml").read_text() + (ROOT / "docs/ci/benchmark-comment.yml").read_text()
    named = set(re.findall(r"packaging/action/(\w+\.sh)", text))
    assert named == {path.name for path in PARTS.glob("*.sh")}
    for name in named:
        done = subprocess.run(["bash", "-n", str(PARTS / name)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_cache_of_pip_follows_the_lock_file():
    """hashFiles() sees nothing outside of the checkout, where the action lies: its answer would be empty."""
    text = (ROOT / "action.yml").read_text()
    assert "hashFiles(" not in text.replace("# hashFiles()", "")
    (command,) = re.findall(r'echo "lock=.*', text)
    done = subprocess.run(
        ["bash", "-c", command],
        env={**os.environ, "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_OUTPUT": "/dev/stdout"},
        capture_output=True,
        text=True,
        check=True,
    )
    digest = hashlib.sha256((ROOT / "requirements.lock").read_bytes()).hexdigest()
    assert done.stdout == f"lock={digest}\n"
    assert "${{ steps.pip.outputs.lock }}" in text


def test_the_action_gives_its_parts_every_variable_that_they_read():
    given = set(
        re.findall(r"^        (TOLL\w*|GH_TOKEN|CODE):", (ROOT / "action.yml").read_text(), re.MULTILINE)
    )
    read = set(re.findall(r"\$\{?(TOLL\w*)", "".join(path.read_text() for path in PARTS.glob("*.sh"))))
    assert read - given == {"TOLL_HEAD_SHA"}  # of the second workflow
