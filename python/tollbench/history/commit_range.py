"""The commits between two revisions, as a row in which each comes after those that it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tollbench.compare.git import git
from tollbench.compare.revisions import Revision, revisions
from tollbench.errors import TollError
from tollbench.text import clean, shown

_MOST_ASKED, _MOST_TREES = 2000, 50  # the newest ones
# A subject may hold a line break of any kind, but no NUL.
_FIELDS = "%x00%H %T %ct%x00%P%x00%an%x00%s%x00"


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the row; author and subject are fit to be shown."""

    commit: str
    tree: str
    author: str
    subject: str
    name: str = ""  # as the user wrote it, of both ends
    committed_s: int = 0  # seconds since 1970; 0 where it has no date
    parents: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """Ten digits."""
        return self.commit[:10]

    @property
    def revision(self) -> Revision:
        """As it is built."""
        return Revision(self.name or self.short, self.commit)


@dataclass(frozen=True, slots=True)
class CommitRange:
    """GOOD, and behind it all that led from there to BAD, which is the last."""

    repository: Path
    commits: tuple[Commit, ...]
    first_parent: bool

    @property
    def last(self) -> int:
        """The place of BAD; GOOD's is 0."""
        return len(self.commits) - 1

    def without_repeats(self) -> CommitRange:
        """Without commits that have the files of the one before them, which cannot have changed anything.

        Parents are those in the row, each by the commit that is kept in its place.
        """
        kept: list[Commit] = []
        stands_for: dict[str, str] = {}
        for commit in self.commits:
            if not kept or commit.tree != kept[-1].tree:
                parents = (stands_for[one] for one in commit.parents if one in stands_for)
                kept.append(replace(commit, parents=tuple(dict.fromkeys(parents))))
            stands_for[commit.commit] = kept[-1].commit
        return replace(self, commits=tuple(kept))

    def named(self, first: int, last: int) -> str:
        """Commits from one place to another: a commit's hash, or a range that git understands."""
        if first == last:
            return self.commits[last].commit
        return f"{self.commits[first - 1].commit}..{self.commits[last].commit}"


def commit_range(repository: Path, good: str, bad: str, *, first_parent: bool) -> CommitRange:
    """The row from GOOD to BAD: parents before children, branches that were merged one after the other.

    Only what comes from GOOD and leads to BAD is in it (`git rev-list --topo-order --ancestry-path`), with
    `first_parent` those alone that are BAD, its first parent, that one's first parent and so on. Where GOOD
    is on a branch that was merged, they begin with that merge: those before it do not have GOOD. Raises
    TollError outside of a repository, in a shallow clone, for an unknown revision and where BAD does not come
    from GOOD.
    """
    first, last = revisions(repository, (good, bad))
    if _misses_some(repository, first, last):
        raise TollError(
            f"{repository} is in a shallow clone: commits between {good} and {bad} may be missing",
            "bring them: git fetch --unshallow",
        )
    if first.commit == last.commit:
        raise TollError(f"{good} and {bad} are one commit: {first.commit[:10]}", "name an older GOOD")
    if not _leads_to(repository, first, last):
        if _leads_to(repository, last, first):
            raise TollError(f"{bad} comes before {good}", f"name the older one first: {bad} {good}")
        raise TollError(
            f"{bad} does not come from {good}: the change may be on either branch",
            f"begin where they part: `git merge-base {good} {bad}` names it",
        )
    between = f"{first.commit}..{last.commit}"
    commits = _listed(repository, "--topo-order", "--ancestry-path", "--reverse", between)
    if first_parent:
        having = {commit.commit for commit in commits}
        listed = _listed(repository, "--first-parent", "--reverse", between)
        commits = [commit for commit in listed if commit.commit in having]
    begin = _listed(repository, "--max-count=1", first.commit)
    if not commits or not begin or commits[-1].commit != last.commit:
        raise TollError(
            f"git lists no commits from {good} to {bad}", "look at them: git rev-list --topo-order GOOD..BAD"
        )
    ends = {begin[0].commit: good, last.commit: bad}
    row = tuple(_named(item, ends.get(item.commit, "")) for item in (*begin, *commits))
    return CommitRange(repository, row, first_parent)


def merges_in(commits: CommitRange) -> int:
    """How many commits have several parents, where branches stand one behind the other in the row.

    None of what was merged need be in it: a branch that began before GOOD is not.
    """
    between = f"{commits.commits[0].commit}..{commits.commits[-1].commit}"
    straight = _listed(commits.repository, "--first-parent", "--reverse", between)
    row = [commit.commit for commit in commits.commits[1:]]
    if commits.first_parent or [commit.commit for commit in straight] == row:
        return 0
    told = git(commits.repository, "rev-list", "--count", "--merges", "--ancestry-path", between)
    return int(told.stdout or 0)


def submodules(repository: Path, commit: str) -> list[str]:
    """Folders of a commit that are repositories of their own, which a checkout leaves empty."""
    told = git(repository, "ls-tree", "-r", "-z", "--full-tree", commit)
    rows = [row.split("\t", 1) for row in told.stdout.split("\0") if row.startswith("160000 ")]
    return [clean(path) for _, path in rows]


def latest_commits(repository: Path, count: int, tip: str = "HEAD", *, first_parent: bool) -> CommitRange:
    """The last `count` commits that lead to `tip`, the oldest first.

    Raises TollError outside of a repository, for an unknown revision, and in a shallow clone that has fewer.
    """
    last = revisions(repository, (tip, tip))[0]
    way = ["--first-parent"] if first_parent else ["--topo-order"]
    commits = _listed(repository, *way, "--reverse", f"--max-count={count}", last.commit)
    if len(commits) < count and _is_shallow(repository):
        raise TollError(
            f"{repository} is in a shallow clone, which has {len(commits)} of the last {count} commits",
            f"bring them: git fetch --deepen={count}"
            + (f", or ask for fewer: --last {len(commits)}" if len(commits) > 1 else ""),
        )
    return CommitRange(repository, tuple(commits), first_parent)


def one_commit(repository: Path, name: str) -> Commit:
    """What a revision names. Raises TollError outside of a repository, and for an unknown one."""
    revision = revisions(repository, (name, name))[0]
    return _listed(repository, "--max-count=1", revision.commit)[0]


def any_known(repository: Path, commits: Sequence[str], trees: Sequence[str]) -> bool:
    """Whether the repository has any of these commits, or of these trees, as after a rewriting."""
    some = commits[-_MOST_ASKED:]
    if git(repository, "rev-list", "--no-walk", "--ignore-missing", *some).stdout:
        return True
    return any(git(repository, "cat-file", "-e", tree).returncode == 0 for tree in trees[-_MOST_TREES:])


def tagged_commits(repository: Path, pattern: str) -> CommitRange:
    """The commits of all tags whose names match a pattern of git, each behind those that it comes from.

    A tag of something else than a commit, such as a key, is none of them. Raises TollError outside of a
    repository, in a shallow clone, which may not know who comes from whom, and where fewer than two match.
    """
    revisions(repository, ("HEAD", "HEAD"))
    if _is_shallow(repository):
        raise TollError(
            f"{repository} is in a shallow clone, in which it is open which tag comes from which",
            "bring what is missing: git fetch --unshallow --tags",
        )
    names = _tags_of_commits(repository, pattern)
    if len(names) < 2:
        raise TollError(
            f"{len(names)} tags match {shown(pattern, 100)!r} in {repository}",
            "`git tag --list` shows them; `git fetch --tags` brings those of others",
        )
    found: dict[str, Commit] = {}
    for revision in revisions(repository, names):
        (commit,) = _listed(repository, "--max-count=1", revision.commit)
        found.setdefault(commit.commit, _named(commit, revision.name))
    # By descent, as a clock may be wrong; the date decides between those that do not come from each other.
    listed = git(repository, "rev-list", "--date-order", "--reverse", *found).stdout.split()
    order = {commit: place for place, commit in enumerate(listed)}
    row = sorted(found.values(), key=lambda commit: order.get(commit.commit, len(order)))
    return CommitRange(repository, tuple(row), True)


def _tags_of_commits(repository: Path, pattern: str) -> list[str]:
    """Oldest first. `git tag` matches a pattern with the whole name, for-each-ref folder by folder."""
    fields = "%(refname:strip=2)%00%(objecttype)%00%(*objecttype)"
    told = git(
        repository, "tag", "--list", "--sort=creatordate", "--no-column", f"--format={fields}", "--", pattern
    )
    names = []
    for line in told.stdout.split("\n"):  # a name may hold any line break of Unicode's
        if not line:
            continue
        name, *kinds = line.split("\0")
        kinds = [kind for kind in kinds if kind]
        if kinds[-1] == "tag":  # of a tag: git follows one of them alone here
            asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"refs/tags/{name}^{{commit}}")
            kinds = ["commit"] * (git(repository, *asked).returncode == 0)
        names += [name] * (kinds[-1:] == ["commit"])
    return names


def _is_shallow(repository: Path) -> bool:
    return git(repository, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"


def _misses_some(repository: Path, first: Revision, last: Revision) -> bool:
    """Whether what leads from the one to the other reaches the end of a shallow clone."""
    if not _is_shallow(repository):
        return False
    told = git(repository, "rev-parse", "--git-path", "shallow").stdout.rstrip("\n")
    try:
        ends = set((repository / told).read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return True
    between = git(repository, "rev-list", f"{first.commit}..{last.commit}")
    return between.returncode != 0 or not ends.isdisjoint(between.stdout.split())


def _named(item: Commit, name: str) -> Commit:
    return replace(item, name=name)


def _leads_to(repository: Path, older: Revision, newer: Revision) -> bool:
    asked = git(repository, "merge-base", "--is-ancestor", older.commit, newer.commit)
    return asked.returncode == 0


def _listed(repository: Path, *words: str) -> list[Commit]:
    """By rev-list, which heeds no configuration that would verify signatures. Raises TollError."""
    told = git(repository, "rev-list", "--encoding=UTF-8", f"--format={_FIELDS}", *words)
    if told.returncode != 0:
        raise TollError(
            f"git cannot list the commits in {repository}: {shown(told.stderr.strip(), 300)}",
            "look at the repository: git fsck",
        )
    pieces = told.stdout.split("\0")  # "commit HASH", hashes, parents, author, subject, and again
    found = []
    for ids, parents, author, subject in zip(*(pieces[first::5] for first in range(1, 5)), strict=True):
        commit, tree, committed = ids.split(" ")
        seconds = int(committed or 0)  # old conversions made commits without a committer's date
        names = tuple(parents.split())
        found.append(Commit(commit, tree, clean(author), clean(subject), "", seconds, names))
    return found
