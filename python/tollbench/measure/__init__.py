"""Measures a plan: fresh launches in random order, limits on everything, each launch stored at once."""

from tollbench.measure.clock import Clock, SystemClock
from tollbench.measure.interrupt import Interrupt
from tollbench.measure.process import ProcessLauncher
from tollbench.measure.resuming import plan_json, plan_of
from tollbench.measure.run import Canary, run

__all__ = ["Canary", "Clock", "Interrupt", "ProcessLauncher", "SystemClock", "plan_json", "plan_of", "run"]
