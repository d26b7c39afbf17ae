"""All that toll writes for a user: whole or not at all, and never over what toll did not make."""

from tollbench.writing.marks import Mark
from tollbench.writing.outputs import Output, check_outputs, is_special, open_again, open_new
from tollbench.writing.scratch import delete_tree, is_scratch_folder, scratch_folder, sweep_scratch
from tollbench.writing.whole import alone, write_own

__all__ = [
    "Mark",
    "Output",
    "alone",
    "check_outputs",
    "delete_tree",
    "is_scratch_folder",
    "is_special",
    "open_again",
    "open_new",
    "scratch_folder",
    "sweep_scratch",
    "write_own",
]
