"""heed bench: what it reports, and what it refuses."""

import json
import math
import pathlib
import unittest

import heed_cli
from heed_cli import heed

POSITIVE = ("target_tokens_per_second", "model_flops_per_second", "roofline_flops_per_second",
            "peak_product_flops_per_second", "share", "peak_memory_bytes")


class BenchTrain(heed_cli.CliTest):
    def test_reports_one_json_object_of_positive_figures(self):
        result = heed("bench", "train", "--shape", "tiny", "--steps", "1", "--warmup", "1", "--json", timeout=240)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        report = json.loads(result.stdout)
        for key in POSITIVE:
            self.assertIn(key, report)
            self.assertIsInstance(report[key], (int, float))
            self.assertTrue(math.isfinite(report[key]) and report[key] > 0, f"{key} is {report[key]}")
        self.assertLessEqual(report["roofline_flops_per_second"], report["peak_product_flops_per_second"] * (1 + 1e-5))
        self.assertAlmostEqual(report["share"],
                               report["model_flops_per_second"] / report["roofline_flops_per_second"], places=3)

        self.assertRegex(report["yardstick"], r"^oneDNN \d+\.\d+\.\d+, (f32|bf16|bf16 and f32)$")
        self.assertGreaterEqual(report["disturbance"], 1.0)
        self.assertIn(report["quiet"], (True, False))
        if report["disturbance"] > 1.11 or report["share"] > 1.01:
            self.assertFalse(report["quiet"])

    def test_says_which_instructions_it_used_and_what_it_was_compared_with(self):
        """A processor with AVX2 alone, for which oneDNN has no bf16 product."""
        limited = {"HEED_CPU": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
        result = heed("bench", "train", "--shape", "tiny", "--steps", "2", "--precision", "bf16", "--json", timeout=240,
                      environment=limited)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        report = json.loads(result.stdout)
        self.assertIn(report["instruction_set"], ("AVX2", "SSE4"))
        self.assertRegex(report["yardstick"], r", f32$")
        text = heed("bench", "train", "--shape", "tiny", "--steps", "1", timeout=240, environment=limited).stdout
        self.assertIn(f"{report['instruction_set']} kernels", text)
        self.assertIn(report["yardstick"], text)

    def test_products_of_integers_may_use_avx_vnni_where_it_is_allowed(self):
        flags = pathlib.Path("/proc/cpuinfo").read_text().split()
        result = heed("bench", "train", "--shape", "tiny", "--steps", "1", "--json", timeout=240,
                      environment={"HEED_CPU": "avxvnni", "ONEDNN_MAX_CPU_ISA": "AVX2"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(json.loads(result.stdout)["instruction_set"] == "AVX-VNNI", "avx_vnni" in flags)

    def test_an_unknown_instruction_set_is_refused(self):
        for value in ("avx1024", "AVX2", ""):
            self.assert_refused("bench", "train", "--shape", "tiny", mentions=("HEED_CPU", f"'{value}'", "sse4", "avx512"),
                                environment={"HEED_CPU": value})

    def test_an_unknown_shape_lists_the_known_ones(self):
        self.assert_refused("bench", "train", "--shape", "nonsense", mentions=("'nonsense'", "tiny", "gpt-long"))

    def test_a_misspelled_shape_suggests_the_nearest(self):
        self.assert_refused("bench", "train", "--shape", "smal", mentions=("'smal'", "'small'"))

    def test_a_precision_that_cannot_train_names_those_that_can(self):
        for precision in ("int8", "fp7", ""):
            self.assert_refused("bench", "train", "--shape", "tiny", "--precision", precision,
                                mentions=(f"'{precision}'", "f32", "bf16"))

    def test_an_absurd_number_of_threads_is_refused(self):
        for threads in (-1, 100000):
            self.assert_refused("bench", "train", "--shape", "tiny", "--threads", threads, mentions=(threads,))

    def test_a_negative_number_of_steps_is_refused(self):
        self.assert_refused("bench", "train", "--shape", "tiny", "--steps", "-3", mentions=("-3 steps", "expected"))
        self.assert_refused("bench", "train", "--shape", "tiny", "--warmup", "-1", mentions=("-1", "expected"))

    def test_a_value_that_is_not_a_number_is_refused(self):
        for value in ("many", "1.5", "99999999999999999999"):
            self.assert_refused("bench", "train", "--shape", "tiny", "--steps", value, mentions=("--steps",))

    def test_a_missing_shape_is_asked_for(self):
        self.assert_refused("bench", "train", mentions=("--shape",))

    def test_an_unknown_option_is_named(self):
        self.assert_refused("bench", "train", "--shape", "tiny", "--step", "3", mentions=("--step",))


class BenchLimits(heed_cli.CliTest):
    def check_limits(self, case, seconds):
        """The share is of the longer of the two times that the limits allow."""
        self.assertGreater(min(case["memory_seconds"], case["matrix_seconds"]), 0)
        self.assertEqual(case["limit"], "memory" if case["memory_seconds"] > case["matrix_seconds"] else "matrix")
        self.assertAlmostEqual(case["share"] * seconds / max(case["memory_seconds"], case["matrix_seconds"]), 1, places=2)

    def check_ops(self, ops):
        """Where the time goes, most expensive first."""
        self.assertIn("linear", [op["op"] for op in ops])
        shares = [op["share"] for op in ops]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertAlmostEqual(sum(shares), 1, places=2)
        self.assertTrue(all(op["calls"] > 0 for op in ops))


class BenchGenerate(BenchLimits):
    def test_reports_the_prompt_and_each_group_of_streams(self):
        result = heed("bench", "generate", "--shape", "gpt-char", "--prompt", 16, "--tokens", 3, "--streams", 1, 2,
                      "--json", timeout=240)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        report = json.loads(result.stdout)
        self.assertEqual(report["prompt"], 16)
        self.assertEqual([group["streams"] for group in report["streams"]], [1, 2])
        reads = []
        for group in report["streams"]:
            self.assertAlmostEqual(group["tokens_per_second"] * group["step_seconds"], group["streams"], places=3)
            self.check_limits(group, group["step_seconds"])
            self.check_ops(group["ops"])
            reads.append(group["bytes_per_second"] * group["step_seconds"] / group["memory_seconds"])
        # The best of the rates that were measured beside the groups.
        self.assertAlmostEqual(max(reads) / report["read_bytes_per_second"], 1, places=3)
        self.check_ops(report["prompt_ops"])
        self.assertEqual([op["calls"] for op in report["streams"][0]["ops"] if op["op"] == "linear"],
                         [op["calls"] for op in report["prompt_ops"] if op["op"] == "linear"])
        for key in ("prompt_seconds", "prompt_flops_per_second", "roofline_flops_per_second", "prompt_share",
                    "read_bytes_per_second", "product_flops_per_second", "weight_bytes", "peak_memory_bytes",
                    "parameters"):
            self.assertTrue(math.isfinite(report[key]) and report[key] > 0, f"{key} is {report[key]}")

    def test_more_streams_bring_a_step_nearer_to_the_limit_of_products(self):
        result = heed("bench", "generate", "--shape", "gpt-char", "--prompt", 8, "--tokens", 2, "--streams", 1, 64, "--json",
                      timeout=240)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        one, many = json.loads(result.stdout)["streams"]
        self.assertEqual(one["limit"], "memory")
        self.assertGreater(many["matrix_seconds"] / many["memory_seconds"], 8 * one["matrix_seconds"] / one["memory_seconds"])

    def test_the_text_says_which_limit_binds_and_where_the_time_goes(self):
        result = heed("bench", "generate", "--shape", "gpt-char", "--prompt", 8, "--tokens", 2, "--streams", 1, 2, timeout=240)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"(?m)^ +1 .* \d+\.\d\d of memory")
        for of in ("the prompt", "1 stream, one step", "2 streams, one step"):
            self.assertRegex(result.stdout, rf"(?m)^op +calls +%   {of}\n.*\d$")

    def test_options_that_make_no_sense_are_refused(self):
        shape = ("bench", "generate", "--shape", "gpt-char")
        self.assert_refused("bench", "generate", "--shape", "gpt3", mentions=("'gpt3'", "gpt2"))
        self.assert_refused(*shape, "--streams", "0", mentions=("'0' streams", "1 to 4096"))
        self.assert_refused(*shape, "--streams", "many", mentions=("'many' streams",))
        self.assert_refused(*shape, "--prompt", "0", mentions=("0 tokens of prompt",))
        self.assert_refused(*shape, "--tokens", "5000", mentions=("5000 timed tokens", "context is 256"))
        self.assert_refused(*shape, "--precision", "int8", mentions=("'int8'", "bf16"))
        self.assert_refused(*shape, "--weights", "int3", mentions=("'int3'", "int8"))

    def test_int8_weights_take_about_a_quarter(self):
        reports = []
        for weights in ("precision", "int8"):
            result = heed("bench", "generate", "--shape", "gpt-char", "--precision", "f32", "--weights", weights, "--prompt", 8,
                          "--tokens", 2, "--streams", 1, "--json", timeout=240)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            reports.append(json.loads(result.stdout))
        self.assertEqual([report["weights"] for report in reports], ["f32", "int8"])
        self.assertTrue(0.24 < reports[1]["weight_bytes"] / reports[0]["weight_bytes"] < 0.27)


class BenchDecode(BenchLimits):
    def test_reports_both_searches_and_one_sentence_alone(self):
        for weights in ("precision", "int8"):
            result = heed("bench", "decode", "--shape", "tiny", "--sentences", 40, "--weights", weights, "--json",
                          timeout=240)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            report = json.loads(result.stdout)
            self.assertEqual([search["beam"] for search in report["searches"]], [1, 4])
            for search in report["searches"]:
                self.assertAlmostEqual(search["tokens_per_second"] * search["seconds"], 40 * 16, delta=1)
                self.check_limits(search, search["seconds"])
                self.check_ops(search["ops"])
            self.check_limits(report["alone"], report["alone_median_seconds"])
            self.assertLessEqual(report["alone_median_seconds"], report["alone_99_percent_seconds"])
            for key in ("alone_median_seconds", "weight_bytes", "peak_memory_bytes", "parameters"):
                self.assertTrue(math.isfinite(report[key]) and report[key] > 0, f"{key} is {report[key]}")

    def test_options_that_make_no_sense_are_refused(self):
        self.assert_refused("bench", "decode", "--shape", "gpt-char", mentions=("'gpt-char'", "tiny, small, base"))
        self.assert_refused("bench", "decode", "--shape", "tiny", "--sentences", "0", mentions=("0 sentences",))


if __name__ == "__main__":
    unittest.main()
