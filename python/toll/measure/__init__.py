"""Measures a plan: fresh launches in random order, limits on everything, each launch stored at once."""

from toll.measure.clock import Clock, SystemClock
from toll.measure.interrupt import Interrupt
from toll.measure.process import ProcessLauncher
from toll.measure.resuming import plan_json, plan_of
from toll.measure.run import Canary, run

__all__ = ["Canary", "Clock", "Interrupt", "ProcessLauncher", "SystemClock", "plan_json", "plan_of", "run"]
