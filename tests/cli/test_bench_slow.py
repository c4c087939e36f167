"""heed bench train: what it reports, and what it refuses."""

import json
import math
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

    def test_an_unknown_shape_lists_those_there_are(self):
        self.assert_refused("bench", "train", "--shape", "nonsense", mentions=("'nonsense'", "tiny", "gpt-long"))

    def test_a_slip_in_a_shapes_name_gets_the_nearest_one(self):
        self.assert_refused("bench", "train", "--shape", "smal", mentions=("'smal'", "'small'"))

    def test_a_precision_that_cannot_train_names_those_that_can(self):
        for precision in ("int8", "fp7", ""):
            self.assert_refused("bench", "train", "--shape", "tiny", "--precision", precision,
                                mentions=(f"'{precision}'", "f32", "bf16"))

    def test_an_absurd_number_of_threads(self):
        for threads in (-1, 100000):
            self.assert_refused("bench", "train", "--shape", "tiny", "--threads", threads, mentions=(threads,))

    def test_less_than_no_steps(self):
        self.assert_refused("bench", "train", "--shape", "tiny", "--steps", "-3", mentions=("-3 steps", "expected"))
        self.assert_refused("bench", "train", "--shape", "tiny", "--warmup", "-1", mentions=("-1", "expected"))

    def test_what_is_no_number(self):
        for value in ("many", "1.5", "99999999999999999999"):
            self.assert_refused("bench", "train", "--shape", "tiny", "--steps", value, mentions=("--steps",))

    def test_a_missing_shape_is_asked_for(self):
        self.assert_refused("bench", "train", mentions=("--shape",))

    def test_an_unknown_option_is_named(self):
        self.assert_refused("bench", "train", "--shape", "tiny", "--step", "3", mentions=("--step",))


if __name__ == "__main__":
    unittest.main()
