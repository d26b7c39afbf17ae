"""Runs a real program through protocol 1 and checks every line against schemas/protocol.schema.json.

Usage: test_protocol.py SCHEMA FIXTURE ALLOCATIONS_LIBRARY (or an empty text: skip the counting pass)

FIXTURE is tests/cpp/fixture.cpp, a program whose contenders do what their names say. Needs
`jsonschema`; exits 77 (skipped, for ctest) where it is missing.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

try:
    import jsonschema
except ImportError:
    print("jsonschema is not installed; ./toll test brings it into the project's .venv")
    sys.exit(77)

SCHEMA, FIXTURE, ALLOCATIONS = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
LINE_LIMIT = 1 << 20


def validator(definition: str) -> jsonschema.Draft202012Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    chosen = {"$schema": schema["$schema"], "$defs": schema["$defs"], "$ref": f"#/$defs/{definition}"}
    return jsonschema.Draft202012Validator(chosen)


ANSWER, REQUEST = validator("answer"), validator("request")


class Outcome:
    """What a program wrote, read as the protocol says, and how it ended."""

    def __init__(self, output: bytes, code: int, errors: str) -> None:
        self.code, self.errors = code, errors
        self.messages: list[dict[str, Any]] = []
        self.samples: list[tuple[float, ...]] = []
        while output:
            line, _, output = output.partition(b"\n")
            message = json.loads(line)
            ANSWER.validate(message)
            self.messages.append(message)
            if message["type"] == "samples":
                raw, output = output[: message["bytes"]], output[message["bytes"] :]
                assert len(raw) == message["bytes"], "fewer bytes than the header announced"
                self.samples.append(struct.unpack(f"<{message['count']}f", raw))

    @property
    def types(self) -> list[str]:
        return [message["type"] for message in self.messages]

    @property
    def last(self) -> dict[str, Any]:
        return self.messages[-1]


def serve(contender: str, *requests: Any, words: tuple[str, ...] = (), **extra: str) -> Outcome:
    """Sends each request (a dict as JSON, bytes as they are), then the end of input."""
    kind = "samples" if contender.startswith("timed_") else "batch"
    sent = b"".join(r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n" for r in requests)
    return run("serve", f"test/{kind}", contender, *words, sent=sent, **extra)


def run(*words: str, sent: bytes = b"", **extra: str) -> Outcome:
    # Without inherited TOLL_ variables: a developer's own settings must not decide a test.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TOLL_")} | extra
    done = subprocess.run([FIXTURE, *words], input=sent, capture_output=True, env=environment, timeout=120)
    return Outcome(done.stdout, done.returncode, done.stderr.decode())


def batch(iterations: Any, **more: Any) -> dict[str, Any]:
    return {"type": "batch", "iterations": iterations, **more}


STOP = {"type": "stop"}


class Requests(unittest.TestCase):
    def test_describe_lists_every_contender(self) -> None:
        said = run("describe")
        self.assertEqual((said.code, said.types), (0, ["description"]))
        names = {c["contender"] for c in said.last["contenders"]}
        self.assertLessEqual({"counts", "throws", "lies", "timed_counts"}, names)
        first = next(c for c in said.last["contenders"] if c["contender"] == "counts")
        self.assertEqual(first["library"], "fixture")
        self.assertEqual([p["name"] for p in first["parameters"]], ["step", "text", "many"])

    def test_requests_of_the_schema_are_what_the_program_takes(self) -> None:
        for request in (batch(3, layout=991), {"type": "samples", "count": 5}, STOP):
            REQUEST.validate(request)
        with self.assertRaises(jsonschema.ValidationError):
            REQUEST.validate(batch(0))

    def test_batches_with_and_without_layout(self) -> None:
        said = serve("counts", batch(12), batch(5, layout=991), batch(1, layout=2**64 - 1), STOP)
        self.assertEqual((said.code, said.types), (0, ["ready", "batch", "batch", "batch", "stopped"]))
        self.assertEqual([m["checksum"] for m in said.messages[1:4]], ["36", "15", "3"])
        self.assertEqual([m["units"] for m in said.messages[1:4]], [24, 10, 2])
        self.assertIn("reason", said.messages[1]["counters"])

    def test_parameters_reach_the_contender(self) -> None:
        said = serve("counts", batch(2), STOP, words=("step=7", "text=a=b"))
        self.assertEqual(said.messages[1]["checksum"], "14")
        self.assertEqual(said.messages[0]["footing"]["text"], "a=b")

    def test_details_are_of_the_request_just_answered(self) -> None:
        said = serve("tells", batch(2), batch(3, layout=1), STOP)
        self.assertEqual(said.messages[1]["details"], {"counted": 6.0, "debt": -0.5})
        self.assertEqual(said.messages[2]["details"], {"counted": 9.0, "debt": -0.5})

    def test_a_contender_without_details_and_cells_sends_neither(self) -> None:
        said = serve("counts", batch(2), STOP)
        self.assertFalse({"details", "cells"} & said.messages[1].keys())

    def test_cells_add_up_to_the_samples(self) -> None:
        said = serve("timed_cells", {"type": "samples", "count": 5}, STOP)
        cells = [{"key": "0>1", "count": 2}, {"key": "1>0", "count": 3}]
        self.assertEqual(said.messages[1]["cells"], cells)

    def test_by_hand_details_stand_below_their_row(self) -> None:
        done = subprocess.run([FIXTURE, "tells"], capture_output=True, timeout=120, check=True)
        lines = done.stdout.decode().splitlines()
        row = next(number for number, line in enumerate(lines) if line.startswith("tells"))
        self.assertEqual(lines[row + 1].split()[0], "counted")
        self.assertEqual(lines[row + 2].split(), ["debt", "-0.5"])

    @unittest.skipUnless(ALLOCATIONS, "a sanitizer brings its own malloc")
    def test_the_footing_names_what_serves_malloc(self) -> None:
        said = serve("counts", STOP)
        self.assertEqual(said.messages[0]["footing"]["malloc"], "glibc")

    def test_cpus_is_the_number_of_usable_cpus(self) -> None:
        said = serve("counts", STOP)
        self.assertEqual(said.messages[0]["footing"]["many"], len(os.sched_getaffinity(0)))

    def test_samples_are_little_endian_floats(self) -> None:
        said = serve("timed_counts", {"type": "samples", "count": 1000, "layout": 3}, STOP)
        self.assertEqual(said.types, ["ready", "samples", "stopped"])
        self.assertEqual(said.messages[1]["bytes"], 4000)
        self.assertEqual(len(said.samples[0]), 1000)
        self.assertTrue(all(0 <= ns < 1e9 for ns in said.samples[0]))

    def test_checksums_keep_all_64_bits(self) -> None:
        said = serve("counts", batch(2), STOP, words=(f"step={2**63 + 1}",))
        self.assertEqual(said.messages[1]["checksum"], "2")

    def test_unknown_fields_are_ignored(self) -> None:
        said = serve("counts", batch(1, colour="blue"), {"type": "stop", "why": None})
        self.assertEqual(said.code, 0)

    def test_end_of_input_ends_the_program(self) -> None:
        said = serve("counts", batch(1))
        self.assertEqual((said.code, said.types), (0, ["ready", "batch"]))

    def test_what_a_contender_prints_stays_out_of_the_protocol(self) -> None:
        said = serve("prints", batch(1), STOP)
        self.assertEqual(said.types, ["ready", "batch", "stopped"])
        self.assertIn("a contender's own words", said.errors)

    @unittest.skipUnless(ALLOCATIONS, "a sanitizer's allocator cannot be preloaded before")
    def test_allocations_are_counted_exactly(self) -> None:
        said = serve("allocates", {"type": "allocations", "iterations": 10}, STOP, LD_PRELOAD=ALLOCATIONS)
        self.assertEqual(said.types, ["ready", "allocations", "stopped"])
        counted = said.messages[1]
        self.assertEqual((counted["calls"], counted["bytes"]), (20, 10 * (100 + 28)))
        # Both blocks of one iteration live at once; the allocator may round each up, by less than 64.
        self.assertTrue(128 <= counted["peak_bytes"] < 256, counted["peak_bytes"])

    def test_allocations_without_the_library_are_unsupported(self) -> None:
        said = serve("allocates", {"type": "allocations", "iterations": 1})
        self.assertEqual((said.code, said.last["kind"]), (1, "unsupported"))


class Faults(unittest.TestCase):
    def expect(self, said: Outcome, kind: str, words: str) -> None:
        self.assertEqual((said.code, said.last["type"]), (1, "error"), said.messages)
        self.assertEqual(said.last["kind"], kind)
        self.assertIn(words, said.last["message"])

    def test_bad_requests_are_usage_errors(self) -> None:
        cases: list[tuple[Any, str]] = [
            (b"garbage\n", "no JSON object"),
            (b"\n", "no JSON object"),
            (b"[1]\n", "no JSON object"),
            (b'"batch"\n', "no JSON object"),
            (b"\xff\xfe\x00{\n", "no JSON object"),
            (b"[" * 500_000 + b"\n", "no JSON object"),
            ({"type": "dance"}, "unknown request 'dance'"),
            ({"iterations": 1}, "no `type`"),
            ({"type": 3}, "no `type`"),
            ({"type": "batch"}, "`iterations`"),
            (batch(0), "between 1 and"),
            (batch(-1), "`iterations`"),
            (batch(1.5), "`iterations`"),
            (batch("1"), "`iterations`"),
            (batch(2**64 - 1), "between 1 and"),
            (batch(10**40), "`iterations`"),
            (batch(1, layout=-5), "`layout`"),
            ({"type": "samples", "count": 1}, "answers `batch`"),
        ]
        for request, words in cases:
            with self.subTest(request=str(request)[:60]):
                self.expect(serve("counts", request), "usage", words)

    def test_bad_counts_are_usage_errors(self) -> None:
        for count in (0, 10**12):
            self.expect(serve("timed_counts", {"type": "samples", "count": count}), "usage", "between 1 and")
        self.expect(serve("timed_counts", batch(1)), "usage", "answers `samples`")

    def test_longest_line_passes_and_one_byte_more_does_not(self) -> None:
        start, end = b'{"type": "stop", "x": "', b'"}'
        fits = start + b"x" * (LINE_LIMIT - 1 - len(start) - len(end)) + end + b"\n"
        self.assertEqual(len(fits), LINE_LIMIT)
        self.assertEqual(serve("counts", fits).types, ["ready", "stopped"])
        self.expect(serve("counts", b" " + fits), "usage", "longer than")
        # After another line, reads no longer end where the limit does.
        self.expect(serve("counts", batch(1), b" " + fits), "usage", "longer than")
        self.expect(serve("counts", b"x" * (3 * LINE_LIMIT)), "usage", "longer than")

    def test_wrong_words_are_usage_errors(self) -> None:
        self.expect(run("serve"), "usage", "WORKLOAD CONTENDER")
        self.expect(run("serve", "test/batch", "nobody"), "usage", "it offers test/batch")
        self.expect(serve("counts", words=("step",)), "usage", "name=value")
        self.expect(serve("counts", words=("speed=1",)), "usage", "it has step, text, many")
        self.expect(serve("counts", words=("step=1", "step=1")), "usage", "twice")
        for value in ("", "x", "1x", "-1", "1.5", str(2**64), "0"):
            with self.subTest(value=value):
                self.expect(serve("counts", words=(f"step={value}",)), "usage", "step=")

    def test_what_contenders_throw_has_the_right_kind(self) -> None:
        for contender, kind, words in (
            ("throws", "internal", "a plain failure"),
            ("throws_odd", "internal", "no std::exception"),
            ("lies", "wrong_answer", "is 4, not 9"),
            ("cannot", "unsupported", "not on this machine"),
            ("exhausts_memory", "resource", "out of memory"),
            ("exhausts_threads", "resource", "ulimit -u"),
            ("other_system_error", "internal", "ermission"),
            ("broken_text", "internal", "\ufffd"),
        ):
            with self.subTest(contender=contender):
                self.expect(serve(contender, batch(3)), kind, words)
        self.expect(serve("timed_lies", {"type": "samples", "count": 3}), "wrong_answer", "is 2, not 3")
        said = serve("timed_but_one", {"type": "samples", "count": 3})
        self.expect(said, "wrong_answer", "of 3 operations 1 have no time")

    def test_a_request_that_cannot_be_read_is_no_orderly_end(self) -> None:
        read_end, write_end = os.pipe()
        try:
            os.set_blocking(read_end, False)
            command = [FIXTURE, "serve", "test/batch", "counts"]
            said = subprocess.run(
                command, stdin=read_end, capture_output=True, text=True, timeout=120, check=False
            )
        finally:
            os.close(read_end)
            os.close(write_end)
        self.assertEqual(said.returncode, 1)
        self.assertIn("cannot read a request: Resource temporarily unavailable", said.stderr)

    def test_environment_that_makes_no_sense(self) -> None:
        for name, value in (
            ("TOLL_CLOCK_HZ", "fast"),
            ("TOLL_CLOCK_HZ", "-1"),
            ("TOLL_CLOCK", "sundial"),
            ("TOLL_COUNTERS", "wishes"),
        ):
            with self.subTest(name=name, value=value):
                changed: dict[str, Any] = {name: value}
                self.expect(serve("counts", **changed), "usage", value)

    def test_a_contradicting_frequency_is_refused(self) -> None:
        source = serve("counts", STOP).messages[0]["clock"]
        if source["source"] == "monotonic":
            self.skipTest(source["reason"])
        hz = source["frequency_hz"]
        self.expect(serve("counts", TOLL_CLOCK_HZ=f"{hz * 1.5:.0f}"), "usage", "contradicts")
        said = serve("counts", STOP, TOLL_CLOCK_HZ=f"{hz * 1.001:.0f}")
        self.assertAlmostEqual(said.messages[0]["clock"]["frequency_hz"] / (hz * 1.001), 1, places=6)

    def test_monotonic_clock_on_request(self) -> None:
        clock = serve("counts", batch(1), STOP, TOLL_CLOCK="monotonic").messages[0]["clock"]
        self.assertEqual(clock["source"], "monotonic")
        self.assertIn("TOLL_CLOCK", clock["reason"])

    def test_a_vanished_reader_ends_the_program_without_a_signal(self) -> None:
        read_end, write_end = os.pipe()
        os.close(read_end)
        child = subprocess.Popen(
            [FIXTURE, "serve", "test/batch", "counts"],
            stdin=subprocess.PIPE, stdout=write_end, stderr=subprocess.PIPE,
        )  # fmt: skip
        os.close(write_end)
        _, errors = child.communicate(b"", timeout=60)
        self.assertEqual(child.returncode, 1)
        self.assertIn(b"cannot answer", errors)


class ByHand(unittest.TestCase):
    def by_hand(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [FIXTURE, *words], capture_output=True, text=True, errors="replace", timeout=120
        )

    def test_a_table_with_the_contender_in_it(self) -> None:
        shown = self.by_hand("counts", "step=2")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertRegex(shown.stdout, r"(?m)^counts +[0-9.e+-]+ +[0-9.e+-]+ ")
        self.assertIn("ns per step", shown.stdout)
        self.assertRegex(self.by_hand("timed_counts").stdout, r"p50 +p90 +p99 +p99\.9 +max")

    def test_all_contenders_are_shown_although_some_fail(self) -> None:
        shown = self.by_hand()
        self.assertEqual(shown.returncode, 0)
        self.assertRegex(shown.stdout, r"(?m)^throws +a plain failure")
        self.assertRegex(shown.stdout, r"(?m)^timed_counts +[0-9]")

    def test_help_shows_parameters_and_an_example(self) -> None:
        shown = self.by_hand("--help")
        self.assertEqual(shown.returncode, 0)
        self.assertIn("step=3", shown.stdout)
        self.assertIn("example:", shown.stdout)

    def test_mistakes_exit_2_with_the_help(self) -> None:
        for words in (("nobody",), ("counts", "speed=1"), ("counts", "step=x")):
            shown = self.by_hand(*words)
            self.assertEqual(shown.returncode, 2)
            self.assertIn("usage:", shown.stderr)

    def test_a_failure_exits_1_with_its_sentence(self) -> None:
        shown = self.by_hand("throws")
        self.assertEqual((shown.returncode, shown.stderr), (1, "a plain failure\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
