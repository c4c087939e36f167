"""heed quantize: what it writes, that every command reads it, and what it refuses."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import heed_cli
from heed_cli import heed, run

MAKE_MODEL = os.environ["HEED_MAKE_MODEL"]
LINES = ["Ein Hund läuft.", "Zwei Frauen lesen ein altes Buch im Park.", "", "Das Haus ist rot."]
TEXT = "".join(line + "\n" for line in LINES)


class Quantize(heed_cli.CliTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.models = pathlib.Path(folder.name)
        subprocess.run([MAKE_MODEL, cls.models / "translator", "kind=char", "vocabulary=0"], check=True)

    @property
    def model(self):
        return self.models / "translator"

    def quantized(self, *options, model=None):
        out = self.path / "small"
        shutil.rmtree(out, ignore_errors=True)
        made = heed("quantize", "--model", model or self.model, "--out", out, *options)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        return out, made.stdout

    def test_int8_takes_about_a_quarter_and_translates_the_same_in_any_batch(self):
        small, printed = self.quantized()
        share = float(re.search(r"\((0\.\d+)\)", printed).group(1))
        self.assertTrue(0.25 < share < 0.40, printed)
        together = run("translate", "--model", small, "--max-length", 12, text=TEXT)
        self.assertEqual((together.returncode, together.stderr), (0, b""))
        for line, translated in zip(LINES, together.stdout.decode().split("\n")):
            alone = run("translate", "--model", small, "--max-length", 12, "--threads", 1, text=line + "\n")
            self.assertEqual(alone.stdout.decode(), translated + "\n")

    def test_int4_takes_about_a_seventh_and_translates_the_same_in_any_batch(self):
        small, printed = self.quantized("--type", "int4")
        self.assertLess(float(re.search(r"\((0\.\d+)\)", printed).group(1)), 0.30)
        together = run("translate", "--model", small, "--max-length", 12, text=TEXT).stdout.decode()
        for line, translated in zip(LINES, together.split("\n")):
            alone = run("translate", "--model", small, "--max-length", 12, "--threads", 1, text=line + "\n")
            self.assertEqual(alone.stdout.decode(), translated + "\n")

    def test_int4_needs_whole_groups(self):
        odd = self.path / "odd"
        subprocess.run([MAKE_MODEL, odd, "kind=char", "vocabulary=0", "width=24", "heads=2"], check=True)
        self.assert_refused("quantize", "--model", odd, "--out", self.path / "out", "--type", "int4",
                            mentions=("rows of 24", "groups of 32", "--keep"))
        self.assertFalse((self.path / "out").exists())

    def test_rounding_is_smaller_with_more_bits(self):
        ratio = {}
        for kind in ("int4", "int8", "bf16", "f16"):
            ratio[kind] = float(re.search(r"noise ([0-9.]+) dB", self.quantized("--type", kind)[1]).group(1))
        self.assertLess(15, ratio["int4"])
        self.assertLess(ratio["int4"], ratio["int8"])
        self.assertLess(30, ratio["int8"])
        self.assertLess(ratio["int8"], ratio["bf16"])
        self.assertLess(ratio["bf16"], ratio["f16"])
        self.assertIn("noise inf dB", self.quantized("--type", "f32")[1])

    def test_f32_is_the_same_model(self):
        small, _ = self.quantized("--type", "f32")
        same = [run("translate", "--model", model, "--max-length", 12, text=TEXT).stdout for model in (self.model, small)]
        self.assertEqual(same[0], same[1])

    def test_kept_matrices_and_inspect(self):
        small, _ = self.quantized("--keep", "*.feed_forward.*=bf16", "--keep", "*.tokens=f32")
        shown = heed("inspect", small).stdout
        self.assertRegex(shown, r"(?m)feed_forward\.inner\.weight .* bf16 ")
        self.assertRegex(shown, r"(?m)tokens .* f32 ")
        self.assertRegex(shown, r"(?m)attention\..*weight .* int8 ")
        self.assertRegex(shown, r"(?m)^bytes +\d+: \d+ in bf16, \d+ in f32, \d+ in int8$")
        self.assertRegex(heed("inspect", self.model).stdout, r"(?m)^bytes +\d+: \d+ in f32$")

    def test_what_makes_no_sense_is_refused_in_one_line(self):
        out = self.path / "out"
        refuse = lambda *options, mentions: self.assert_refused("quantize", *options, mentions=mentions)
        refuse("--model", self.path / "none", "--out", out, mentions=("no such model directory",))
        refuse("--model", self.model, "--out", self.model, mentions=("holds a model already",))
        refuse("--model", self.model, "--out", out, "--type", "int3", mentions=("'int3' is not one of int8",))
        refuse("--model", self.model, "--out", out, "--keep", "output", mentions=("PATTERN=NAME",))
        refuse("--model", self.model, "--out", out, "--keep", "*.atention.*=bf16", mentions=("the nearest is",))
        self.assertFalse(out.exists())
        small, _ = self.quantized()
        refuse("--model", small, "--out", out, mentions=("is quantized: only inference reads it",))
        self.assert_refused("inspect", small, "--probe", mentions=("is quantized: only inference reads it",))

    def test_a_damaged_file_is_refused(self):
        small, _ = self.quantized()
        weights = small / "model.safetensors"
        bytes_ = bytearray(weights.read_bytes())
        bytes_[-5] ^= 1
        weights.write_bytes(bytes_)
        self.assert_refused("translate", "--model", small, text="a\n", mentions=("model.safetensors",))


if __name__ == "__main__":
    unittest.main()
