"""Pure functions on arrays: every interval, correction and rule that a report rests on.

Nothing here knows of benchmarks, files or processes; docs/method.md says how the pieces meet.
Each function states its assumption, shapes, units and source. SciPy is imported where it is used: it takes
0.2 s of CPU time, and whoever starts a program would wait for it.
"""

from tollbench.stats.block_quantiles import (
    block_quantiles,
    log_ratios_of,
    pairs_of,
    shared_blocks,
)
from tollbench.stats.cluster_bootstrap import LaunchCounts, Pooled, count_samples, thin_cdf
from tollbench.stats.clustered import (
    Integers,
    alike,
    all_tell_from,
    clustered_interval,
    independent,
    independent_at,
    planned,
    ranks_by_chance,
)
from tollbench.stats.contrary import contrary_by_chance
from tollbench.stats.correction import bonferroni, holm, letters
from tollbench.stats.drift import Drift, drift
from tollbench.stats.floor import resolvable_log_ratio
from tollbench.stats.histogram import LogHistogram, log_histogram
from tollbench.stats.order_statistics import (
    Interval,
    fewest_values,
    median_interval,
    quantile_interval,
    quantile_ranks,
    spread,
    tick_median,
)
from tollbench.stats.paired import (
    Pairs,
    log_ratios,
    paired_differences,
    pairs_in,
    ratio_interval,
    rounds_needed,
    separated_pairs,
    signs_of_many,
    without_block_effects,
)
from tollbench.stats.region import Region, quotient_interval
from tollbench.stats.runs_test import few_runs
from tollbench.stats.scale import qn_scale
from tollbench.stats.serial import LONG_ENOUGH, Serial, serial_median_interval, times_the_variance
from tollbench.stats.stopping import (
    FIRST_LOOK,
    NEVER_GONE_ON,
    GoneOn,
    RatioTable,
    all_precise,
    doublings,
    final_level,
    level_at_look,
    level_shown,
    look_number,
    narrow,
    next_look,
    precise_enough,
    well_known,
)

__all__ = [
    "FIRST_LOOK",
    "LONG_ENOUGH",
    "NEVER_GONE_ON",
    "Drift",
    "GoneOn",
    "Integers",
    "Interval",
    "LaunchCounts",
    "LogHistogram",
    "Pairs",
    "Pooled",
    "RatioTable",
    "Region",
    "Serial",
    "alike",
    "all_precise",
    "all_tell_from",
    "block_quantiles",
    "bonferroni",
    "clustered_interval",
    "contrary_by_chance",
    "count_samples",
    "doublings",
    "drift",
    "few_runs",
    "fewest_values",
    "final_level",
    "holm",
    "independent",
    "independent_at",
    "letters",
    "level_at_look",
    "level_shown",
    "log_histogram",
    "log_ratios",
    "log_ratios_of",
    "look_number",
    "median_interval",
    "narrow",
    "next_look",
    "paired_differences",
    "pairs_in",
    "pairs_of",
    "planned",
    "precise_enough",
    "qn_scale",
    "quantile_interval",
    "quantile_ranks",
    "quotient_interval",
    "ranks_by_chance",
    "ratio_interval",
    "resolvable_log_ratio",
    "rounds_needed",
    "separated_pairs",
    "serial_median_interval",
    "shared_blocks",
    "signs_of_many",
    "spread",
    "thin_cdf",
    "tick_median",
    "times_the_variance",
    "well_known",
    "without_block_effects",
]
