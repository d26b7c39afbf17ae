"""Commits in order: which of them changed a benchmark.

`commit_range` has the commits between two, `tree_builds` builds them, `bisecting` measures where
`tollbench.stats.bisection` wants to look, `bisections` is the JSON contract. `history_folder` keeps what
`measuring_commits` measures night after night, `reading_history` makes of it what `histories`, the JSON
contract, holds, and `choosing_commits` says what is measured next. Nothing in here prints.
"""
