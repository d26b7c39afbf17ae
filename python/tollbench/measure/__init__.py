"""Measures a plan: fresh launches in random order, limits on everything, each launch stored at once."""

from tollbench.launching.clock import Clock, SystemClock
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.process import ProcessLauncher
from tollbench.measure.campaign import run
from tollbench.measure.errands import Canary
from tollbench.measure.resuming import plan_json, plan_of

__all__ = ["Canary", "Clock", "Interrupt", "ProcessLauncher", "SystemClock", "plan_json", "plan_of", "run"]
