"""Commits in order: which of them changed a benchmark.

`commit_range` has the commits between two, `tree_builds` builds them, `bisecting` measures where
`tollbench.stats.bisection` wants to look, `bisections` is the JSON contract. Nothing in here prints.
"""
