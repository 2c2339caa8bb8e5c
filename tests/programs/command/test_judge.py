#!/usr/bin/env python3
"""Judge: measured speeds and logs compared with what is expected, and what explains the gap. Run: python3 tests/programs/command/test_judge.py"""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import program  # noqa: E402
from program import REFERENCE, ROOT, needs_program, place_of  # noqa: E402

LLAMA = ["--model", "llama3-8b", "--device", "h100", "--batch", 1, "--seq", 8192, "--workers", 64, "--strategy", "fsdp2"]
PORTS = [*LLAMA, "--cluster", "h100x8-8x400gbps", "--rails", 1]  # one of a DGX's eight ports: communication matters
RESNET = ["--profile", "resnet50_v100_b32", "--cluster", "v100x4-pcie-100gbib", "--workers", 16, "--strategy", "ddp"]
NCCL = REFERENCE / "originals" / "nccl_tests"
H100 = ["--cluster", "h100x8-8x400gbps"]


def log_of(rows, ranks):
    """A log as all_reduce_perf writes it, of the rows of `allreplay collective --json`."""
    lines = [f"#  Rank {rank:2} Group  0 Pid {3000 + rank} on node{rank // 8} device {rank % 8} [0x10] Some GPU" for rank in range(ranks)]
    lines += ["#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong"]
    for row in rows:
        block = f" {1e6 * row['time_s']:12.5f} {row['algbw_GBps']:8.4f} {row['busbw_GBps']:8.4f} 0"
        lines.append(f"{row['bytes']:12} {row['bytes'] // 4:12} float sum -1{block}{block}")
    return "\n".join(lines) + "\n"


@needs_program
class Judge(program.Case):
    def judged(self, *words):
        return self.answer("judge", *words)

    def ran(self, *words):
        return self.answer("run", *words)

    def test_the_simulated_number_is_as_expected_in_every_unit(self):
        result = self.ran(*PORTS)
        for option, key in (("--iteration", "iteration_s"), ("--tokens-per-second", "tokens_per_s_per_gpu"),
                            ("--samples-per-second", "samples_per_s_per_gpu"), ("--mfu", "mfu")):
            answer = self.judged(*PORTS, option, repr(result[key]))
            self.assertEqual((answer["verdict"], answer["quantity"], answer["causes"]), ("as expected", key, []))
            self.assertAlmostEqual(answer["ratio"], 1, delta=1e-9)
            self.assertEqual(answer["expected"]["iteration_s"], result["iteration_s"])
            self.assertAlmostEqual(answer["expected"][key], result[key], delta=1e-9 * result[key])

    def test_the_band_is_the_error_of_the_nearest_row(self):
        """MPT on H100 is the nearest to Llama on H100 from data sheets. Errors of times: a time is expected up to 1 / (1 - e) of the predicted one."""
        answer = self.judged(*PORTS, "--iteration", 3)
        error, expected = answer["error"], answer["expected"]["iteration_s"]
        self.assertEqual((error["data"], error["page"], error["differs"]), ("MPT on H100, nothing known", "docs/generated/validation.md", []))
        self.assertAlmostEqual(answer["slowest"]["iteration_s"], expected / (1 - error["p90"]), delta=1e-9)
        self.assertAlmostEqual(answer["fastest"]["iteration_s"], expected * (1 - error["p90"]), delta=1e-9)
        for factor, verdict in ((1.001, "slow"), (0.999, "as expected")):
            self.assertEqual(self.judged(*PORTS, "--iteration", repr(factor * answer["slowest"]["iteration_s"]))["verdict"], verdict)
        for factor, verdict in ((1.001, "as expected"), (0.999, "suspiciously fast")):
            self.assertEqual(self.judged(*PORTS, "--iteration", repr(factor * answer["fastest"]["iteration_s"]))["verdict"], verdict)

    def test_a_number_in_another_unit_is_asked_about(self):
        """1.206 s and 6793 tokens/s are expected."""
        for option, number, meant in (("--iteration", 1350, "1350 ms"), ("--iteration", "1.5 ms", "1.5 s"), ("--tokens-per-second", 5.1, "5100 tokens/s"),
                                      ("--mfu", "0.45%", "45 %"), ("--iteration", 3, None), ("--tokens-per-second", 434752, None)):
            self.assertEqual(self.judged(*LLAMA, *H100, option, number)["meant"], meant)

    def test_a_planted_fault_comes_first(self):
        """What the fault's flags give in `run` is judged without them: the fault leads, and its flags are those that were planted."""
        faults = (["--bandwidth", "x0.5"], ["--protocol", "ll"], ["--precision", "fp32"], ["--recompute", "full"],
                  ["--latency", "112 us", "--bandwidth", "1.54 GB/s"])
        for fault in faults:
            with self.subTest(fault=fault):
                slow = self.ran(*PORTS, *fault)["iteration_s"]
                answer = self.judged(*PORTS, "--iteration", repr(slow))
                self.assertEqual(answer["verdict"], "slow" if slow > answer["slowest"]["iteration_s"] else "as expected")
                first = answer["causes"][0]
                self.assertAlmostEqual(first["iteration_s"], slow, delta=1e-9 * slow)
                self.assertEqual(first["own_flags"], fault)
                self.assertAlmostEqual(first["explains"], 1, delta=1e-6)

    def test_half_of_the_rails_is_half_of_the_bandwidth(self):
        """Both give the same time, so both lead."""
        slow = self.ran(*PORTS)["iteration_s"]
        answer = self.judged(*LLAMA, *H100, "--rails", 2, "--iteration", repr(slow))
        leading = [cause["own_flags"] for cause in answer["causes"] if abs(cause["explains"] - 1) < 1e-3 and not cause["fitted"]]
        self.assertEqual(leading, [["--bandwidth", "x0.5"], ["--rails", "1"]])

    def test_half_of_the_bandwidth_is_slow(self):
        answer = self.judged(*PORTS, "--iteration", repr(self.ran(*PORTS, "--bandwidth", "x0.5")["iteration_s"]))
        self.assertEqual((answer["verdict"], answer["causes"][0]["own_flags"]), ("slow", ["--bandwidth", "x0.5"]))
        self.assertIn("all_reduce_perf", answer["next"][0]["command"])
        self.assertEqual(answer["next"][1]["command"], "allreplay judge nccl.log --cluster h100x8-8x400gbps --rails 1")

    def test_what_is_measured_next_fits_into_the_memory(self):
        """20 B per parameter of 70.6e9 (all in fp32, and the step's copy) are 176 GB on each of 8 GPUs, 88 on 16, 44 on 32."""
        job = ["--model", "llama3-70b", "--device", "h100", "--batch", 1, "--seq", 4096, "--recompute", "full", "--tp", 8, *H100, "--strategy", "fsdp2"]
        answer = self.judged("--tokens-per-second", 200, *job, "--workers", 64)
        again = next(step["command"] for step in answer["next"] if step["why"] == "with less communication").split()
        self.assertEqual(again[again.index("--workers") + 1], "32")
        self.assertGreater(self.ran(*job, "--workers", 16)["memory_bytes"], 85e9)

    def test_a_log_that_leaves_its_operation_open(self):
        """An all-gather and an all-to-all have the same columns and the same busbw / algbw, 15/16."""
        words = ["collective", *H100, "--workers", 16, "--bytes", "16MB:1GB:x4", "--operation", "all-gather", "--json"]
        self.write("open.log", log_of(json.loads(self.run_program(*words).stdout), 16).replace(" sum ", " none "))
        for wrong in ([], ["--operation", "broadcast"]):
            self.assertIn("all_gather_perf or alltoall_perf", self.refusal("judge", "open.log", *H100, *wrong))
        answer = self.judged("open.log", *H100, "--operation", "all_gather")
        self.assertEqual({row["verdict"] for row in answer["ranges"]}, {"as expected"})

    def test_a_fitted_size_is_found(self):
        """A worker 1.7 times as slow is among the fitted causes with that factor: three digits, so half a per cent."""
        slow = self.ran(*PORTS, "--stragglers", "5:1.7")["iteration_s"]
        answer = self.judged(*PORTS, "--iteration", repr(slow))
        [cause] = [one for one in answer["causes"] if one["kind"] == "worker" and one["fitted"]]
        self.assertEqual(cause["own_flags"][0], "--stragglers")
        self.assertAlmostEqual(float(cause["own_flags"][1].removeprefix("0:")), 1.7, delta=0.01)
        self.assertAlmostEqual(cause["ratio"], 1, delta=0.01)

    def test_flags_give_the_times_that_are_printed(self):
        answer = self.judged(*PORTS, "--iteration", 4)
        self.assertGreater(len(answer["causes"]), 10)
        for cause in answer["causes"]:
            if cause["flags"]:
                self.assertAlmostEqual(self.ran(*cause["flags"])["iteration_s"], cause["iteration_s"], delta=1e-9)

    def test_the_order_is_by_miss(self):
        """Fixed causes stand by how far they miss; a fitted one as if it missed by the median error, too."""
        answer = self.judged(*PORTS, "--iteration", 4)
        misses = [max(cause["ratio"], 1 / cause["ratio"]) for cause in answer["causes"] if not cause["fitted"]]
        self.assertEqual(misses, sorted(misses))
        for cause in answer["causes"]:
            self.assertAlmostEqual(cause["ratio"], 4 / cause["iteration_s"], delta=1e-9)

    def test_too_fast_a_number(self):
        """All 64 GPUs' tokens instead of one's."""
        per_gpu = self.ran(*PORTS)["tokens_per_s_per_gpu"]
        answer = self.judged(*PORTS, "--tokens-per-second", repr(64 * per_gpu))
        self.assertEqual(answer["verdict"], "suspiciously fast")
        self.assertEqual((answer["causes"][0]["kind"], answer["causes"][0]["flags"]), ("number", []))
        self.assertIn("64 GPUs", answer["causes"][0]["cause"])
        self.assertEqual((answer["of_all"]["verdict"], answer["of_part"]), ("as expected", None))
        self.assertAlmostEqual(answer["of_all"]["tokens_per_s_per_gpu"], per_gpu, delta=1e-6 * per_gpu)
        self.assertAlmostEqual(answer["of_all"]["ratio"], 1, delta=1e-6)
        answer = self.judged(*PORTS, "--tokens-per-second", repr(per_gpu / 64))
        self.assertEqual((answer["of_part"]["verdict"], answer["of_all"]), ("as expected", None))
        self.assertAlmostEqual(answer["of_part"]["tokens_per_s_per_gpu"], per_gpu, delta=1e-6 * per_gpu)
        # A fifth of what is expected is only slow, and no number of 16 GPUs.
        answer = self.judged(*RESNET, "--samples-per-second", repr(self.ran(*RESNET)["samples_per_s_per_gpu"] / 5))
        self.assertEqual((answer["verdict"], answer["of_all"], answer["of_part"]), ("slow", None, None))

    def test_one_of_several_micro_batches(self):
        words = [*RESNET, "--accumulate", 4]
        time = self.ran(*words)["iteration_s"]
        answer = self.judged(*words, "--iteration", repr(time / 4))
        self.assertEqual((answer["verdict"], answer["causes"][0]["kind"]), ("suspiciously fast", "number"))

    def test_a_profile_alone_and_a_plan(self):
        plan = self.run_program("plan", *RESNET, "--json").stdout
        self.write("plan.json", plan)
        by_plan = self.judged(*RESNET[:-2], "--plan", "plan.json", "--iteration", 1)
        by_name = self.judged(*RESNET, "--iteration", 1)
        self.assertEqual(by_plan["expected"], by_name["expected"])
        self.assertEqual(by_plan["verdict"], "slow")

    def test_texts_are_short(self):
        for words in ([*PORTS, "--iteration", 4], [*PORTS, "--iteration", 0.5], [*RESNET, "--iteration", 1]):
            printed = self.output("judge", *words)
            self.assertLessEqual(len(printed.splitlines()), 40, printed)

    def test_one_line_for_bad_input(self):
        self.write("nccl.log", "nothing\n")
        self.write("sizes.csv", "bytes,time_us\n1024,10\n2048,12\n")
        for words, place in (([*PORTS], "--tokens-per-second"), ([*PORTS, "--iteration", 0], "--iteration"),
                             ([*PORTS, "--iteration", "soon"], "--iteration"), ([*PORTS, "--iteration", -1], "--iteration"),
                             ([*PORTS, "--iteration", "nan"], "--iteration"),
                             ([*PORTS, "--mfu", "145%"], "--mfu"), ([*PORTS, "--mfu", 0.4, "--iteration", 1], "--mfu"),
                             ([*PORTS, "--tokens-per-second", -3], "--tokens-per-second"),
                             ([*RESNET, "--tokens-per-second", 5000], "--tokens-per-second"),
                             ([*PORTS[:-6], "--iteration", 1, *H100], "--strategy"),
                             ([*PORTS, "--iteration", 1, "--time", "avg"], "--time"),
                             (["nccl.log", *H100, "--iteration", 1], "--iteration"), (["nccl.log", *H100, "--strategy", "ddp"], "--strategy"),
                             (["nccl.log", *H100, "--format", "none"], "--format")):
            with self.subTest(words=words):
                self.assertEqual(place_of(self.refusal("judge", *words)), f"command line: {place}")
        for words in (["nccl.log", *H100], ["none.log", *H100], ["sizes.csv", *H100]):
            error = self.refusal("judge", *words)
            self.assertTrue(error.startswith(f"{words[0]}: "), error)


@needs_program
class JudgeLog(program.Case):
    def judged(self, *words):
        return self.answer("judge", *words)

    def log(self, *flags, operation="all-reduce", ranks=64):
        answer = self.answer("collective", *H100, "--workers", ranks, "--operation", operation, "--bytes", "1KiB:1GiB:x4", *flags)
        self.write("some.log", log_of(answer, ranks))

    def test_the_clusters_own_times_are_as_expected(self):
        self.log()
        answer = self.judged("some.log", *H100)
        self.assertEqual((answer["verdict"], answer["workers"], answer["operation"], answer["causes"]), ("as expected", 64, "all-reduce", []))
        for size in answer["sizes"]:
            self.assertAlmostEqual(size["ratio"], 1, delta=1e-3)
            self.assertAlmostEqual(size["busbw_GBps"] / size["expected_busbw_GBps"], 1, delta=1e-3)
        self.assertEqual(sum(one["sizes"] for one in answer["ranges"]), 11)
        self.assertEqual((answer["small"], answer["large"]), (answer["ranges"][0], answer["ranges"][-1]))

    def test_planted_faults_lead(self):
        """Times of a slower network, printed with five decimals of a microsecond: the fault misses by less than a thousandth."""
        for fault in (["--bandwidth", "x0.5"], ["--rails", "1"], ["--protocol", "simple"], ["--protocol", "ll"],
                      ["--latency", "112 us", "--bandwidth", "1.54 GB/s"]):
            with self.subTest(fault=fault):
                self.log(*fault)
                answer = self.judged("some.log", *H100)
                self.assertLess(answer["causes"][0]["miss"], 1e-3)
                self.assertEqual(answer["causes"][0]["own_flags"], fault)

    def test_fitted_sizes(self):
        for fault, name in ((["--bandwidth", "x0.3"], "bandwidth between nodes"), (["--latency", "x5"], "latency between nodes")):
            with self.subTest(fault=fault):
                self.log(*fault)
                first = self.judged("some.log", *H100)["causes"][0]
                self.assertIn(name, first["cause"])
                self.assertTrue(first["fitted"])
                self.assertAlmostEqual(float(first["own_flags"][1][1:]) / float(fault[1][1:]), 1, delta=0.02)

    def test_half_of_the_bandwidth_is_slow_at_large_sizes_only(self):
        self.log("--bandwidth", "x0.5")
        answer = self.judged("some.log", *H100)
        self.assertEqual((answer["verdict"], answer["small"]["verdict"], answer["large"]["verdict"]), ("slow", "as expected", "slow"))
        self.assertGreater(answer["large"]["ratio"], 1.33)  # 400 GB/s of ports, 371 inside a node: half is 200

    def test_slow_and_fast_sizes_do_not_cancel_out(self):
        """From 16 MiB on there are four sizes. Times 1.2 q and 1 / (1.2 q) of the expected ones, q the band's factor,
        have a median near 1. Two of each are slow; one slow size of four is no more than the band allows."""
        self.log()
        answer = self.judged("some.log", *H100)
        factor = 1.2 / (1 - answer["large"]["p90"])
        for factors, verdict in (([factor, 1 / factor, factor, 1 / factor], "slow"), ([factor, 1, 1, 1], "as expected")):
            rows = [dict(row) for row in answer["sizes"]]
            for row, times in zip(rows, [1] * 7 + factors, strict=True):
                row["time_s"] *= times
                row["algbw_GBps"] = row["bytes"] / row["time_s"] / 1e9
                row["busbw_GBps"] = row["algbw_GBps"] * 2 * 63 / 64
            self.write("mixed.log", log_of(rows, 64))
            mixed = self.judged("mixed.log", *H100)
            large = mixed["large"]
            self.assertEqual((mixed["verdict"], large["verdict"], large["slow"]), (verdict, verdict, factors.count(factor)))
            self.assertEqual(large["fast"], factors.count(1 / factor))
            self.assertLess(max(large["ratio"], 1 / large["ratio"]), 1 / (1 - large["p90"]))
            self.assertAlmostEqual(max(large["worst"], 1 / large["worst"]), factor, delta=0.01)
            self.assertEqual(bool(mixed["causes"]), verdict == "slow")

    def test_compared_times_have_one_unit(self):
        """OSU's 20 us next to the 972 us that are expected of 8 bytes on 10-Gbit/s Ethernet."""
        lines = self.output("judge", ROOT / "tests/golden/osu.log", "--cluster", "k80-10gbe", "--workers", 16).splitlines()
        heading = next(i for i, line in enumerate(lines) if "bytes" in line and "expected" in line)
        self.assertEqual(len(set(lines[heading + 1].split())), 1, lines[heading + 1])

    @program.needs(NCCL)
    def test_a_real_log_of_a_dgx(self):
        """8 H100 of one node, published: as expected from 16 MiB on, where two of eleven sizes are slow."""
        answer = self.judged(NCCL / "h100_80gb_1x8_dgx.txt", *H100)
        self.assertEqual((answer["workers"], answer["large"]["verdict"]), (8, "as expected"))
        by_size = {one["bytes"]: one for one in answer["sizes"]}
        self.assertAlmostEqual(by_size[1 << 30]["busbw_GBps"], 466.33, delta=0.05)
        self.assertAlmostEqual(by_size[1 << 30]["time_s"], 4029.4e-6, delta=1e-9)

    @program.needs(NCCL)
    def test_a_real_log_with_halved_bandwidth(self):
        """The same log with twice the times from 1 MiB on: slow there, and bandwidth inside the node explains it."""
        rows = self.judged(NCCL / "h100_80gb_1x8_dgx.txt", *H100)["sizes"]
        for row in rows:
            row["time_s"] *= 2 if row["bytes"] >= 1 << 20 else 1
            row["algbw_GBps"], row["busbw_GBps"] = (times * row["bytes"] / row["time_s"] / 1e9 for times in (1, 1.75))
        self.write("slow.log", log_of(rows, 8))
        answer = self.judged("slow.log", *H100)
        self.assertEqual((answer["verdict"], answer["large"]["verdict"]), ("slow", "slow"))
        self.assertIn("bandwidth inside nodes", answer["causes"][0]["cause"])

    def test_osu_logs_and_other_libraries(self):
        answer = self.judged(ROOT / "tests/golden/osu.log", "--cluster", "k80-10gbe", "--workers", 16)
        self.assertEqual((answer["format"], answer["workers"], answer["error"]["other_library"]), ("osu", 16, True))

    def test_an_all_gather_counts_all_payloads(self):
        self.log(operation="all-gather")
        text = "# all_gather_perf\n" + (self.folder / "some.log").read_text(encoding="utf-8")
        self.write("some.log", text)
        answer = self.judged("some.log", *H100)
        self.assertEqual(answer["operation"], "all-gather")
        for size in answer["sizes"]:
            self.assertAlmostEqual(size["ratio"], 1, delta=1e-3)

    def test_texts_are_short(self):
        self.log("--bandwidth", "x0.1")
        done = self.run_program("judge", "some.log", *H100)
        self.assertLessEqual(len(done.stdout.splitlines()), 40, done.stdout)


@needs_program
@program.needs(REFERENCE / "hybrids")
class Hybrids(program.Case):
    """Rows of docs/generated/hybrids.md: LLaMA-3 of 12 layers on B200, of which nothing is known."""

    def given(self, row):
        hidden, heads, ffn = {"llama3-70b": (8192, 64, 28672), "llama3-405b": (16384, 128, 53248)}[row["model"]]
        tp, pp, dp = (int(row[key]) for key in ("tp", "pp", "dp"))
        words = ["--layers", row["layers"], "--hidden", hidden, "--heads", heads, "--kv-heads", 8, "--ffn", ffn, "--vocab", 128256, "--seq",
                 row["sequence"], "--device", "b200", "--precision", "bf16", "--batch", 1, *(["--tp", tp, "--sequence-parallel"] if tp > 1 else [])]
        self.assertEqual(self.run_program("estimate", *words, "--out", "row.json", "--force").returncode, 0)
        batches, gpus = int(row["microbatches"]), tp * pp * dp
        pipeline = ["--pp", pp, "--option", f"p2p={'blocking' if batches >= pp else 'overlap'}"] if pp > 1 else []
        return ["--profile", "row.json", "--strategy", "sync-easgd", "--micro-batches", batches, *pipeline, "--nodes", 1, "--gpus", gpus,
                "--network", "400 Gbit/s", "--inner", "720 GB/s", "--workers", gpus]

    def test_rows_that_are_hit_are_as_expected(self):
        hit = 0
        for row in program.rows_of(REFERENCE / "hybrids" / "simumax_b200.csv"):
            words, step = self.given(row), float(row["measured_ms"]) / 1e3
            answer = self.answer("judge", *words, "--iteration", repr(step))
            if abs(answer["expected"]["iteration_s"] / step - 1) > 0.1:  # most of 28 rows are within 7 %, 90 % within 17
                continue
            hit += 1
            self.assertEqual(answer["verdict"], "as expected", row["case"])
        self.assertGreaterEqual(hit, 5)

    def test_a_hit_row_with_half_the_bandwidth_is_slow(self):
        """The row with the most communication: tensor groups of 4, NVLink at an eighth. The fault is what explains it."""
        row = next(row for row in program.rows_of(REFERENCE / "hybrids" / "simumax_b200.csv") if row["tp"] == "4")
        words = self.given(row)
        slow = program.answer("run", *words, "--inner-bandwidth", "x0.125", cwd=self.folder)["iteration_s"]
        answer = program.answer("judge", *words, "--iteration", repr(slow), cwd=self.folder)
        self.assertEqual(answer["verdict"], "slow")
        fitted = next(cause for cause in answer["causes"] if cause["own_flags"][:1] == ["--inner-bandwidth"])
        self.assertAlmostEqual(float(fitted["own_flags"][1][1:]), 0.125, delta=0.002)


if __name__ == "__main__":
    unittest.main()
