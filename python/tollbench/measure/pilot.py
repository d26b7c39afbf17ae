"""Finds how much work fills a batch, so that afterwards every launch of a case does exactly the same."""

from __future__ import annotations

from tollbench.measure.launch import Conversation, Talk, Work
from tollbench.measure.protocol import MAX_SAMPLES
from tollbench.plan import Settings
from tollbench.store import Launch
from tollbench.words import Kind

FIRST_SAMPLES = 16
MAX_ITERATIONS = 2**40
_MOST_GROWTH = 16  # a first request is cold: it must not decide alone
_MOST_REQUESTS = 16


def piloting(kind: Kind, settings: Settings) -> Conversation:
    """Grows the requests until one takes at least half a batch's time, and takes it again when repeated.

    The repetition is for busy machines: a program that lost the CPU for a moment looks slow once.
    """

    def talk(talk: Talk) -> None:
        target_ns = _batch_target_ns(settings)
        count = FIRST_SAMPLES if kind is Kind.SAMPLES else 1
        for _ in range(_MOST_REQUESTS):
            wall_ns = talk.time(count).batch.wall_ns
            if wall_ns >= target_ns / 2 and talk.request_ns < 1e9 * settings.launch_s:
                wall_ns = min(wall_ns, talk.time(count).batch.wall_ns)
            if wall_ns >= target_ns / 2 or count >= _most(kind) or talk.request_ns > 1e9 * settings.launch_s:
                return
            count = min(_most(kind), int(count * min(_MOST_GROWTH, max(2.0, target_ns / max(wall_ns, 1.0)))))

    return talk


def work_after(pilot: Launch, kind: Kind, settings: Settings) -> Work:
    """From a pilot as it is stored, so that a resumed run finds the same. Its fastest request counts.

    What a request costs besides its timed part (state made anew) counts too: where that or a single
    iteration is slow, a launch has fewer batches, and without room for two it has no warm-up.
    """
    one_ns = min(batch.wall_ns / batch.iterations for batch in pilot.batches)
    iterations = max(1, min(_most(kind), round(_batch_target_ns(settings) / max(one_ns, 1e-3))))
    requests_ns = pilot.wall_ns - (pilot.setup_ns or 0) - (pilot.overhead_ns or 0)
    besides_ns = max(0.0, requests_ns - sum(batch.wall_ns for batch in pilot.batches)) / len(pilot.batches)
    affordable = int(1.5e9 * settings.launch_s / (iterations * one_ns + besides_ns + 1.0))
    if affordable < 2:
        return Work(iterations, 1, warmup=False)
    return Work(iterations, min(settings.batches, affordable - 1), warmup=True)


def _batch_target_ns(settings: Settings) -> float:
    return 1e9 * settings.launch_s / (settings.batches + 1)


def _most(kind: Kind) -> int:
    return MAX_SAMPLES if kind is Kind.SAMPLES else MAX_ITERATIONS
