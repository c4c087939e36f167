"""What is printed must arrive: every command fails when standard output is a full disk."""

import os
import pathlib
import subprocess
import unittest

import heed_cli
from heed_cli import BINARY, RECIPE, run

FULL = pathlib.Path("/dev/full")
ERROR = b"heed: cannot write to the standard output: No space left on device\n"


@unittest.skipUnless(FULL.is_char_device(), "no /dev/full, so no full disk to try")
class FullDisk(heed_cli.CliTest):
    def setUp(self):
        super().setUp()
        self.text = self.file("text", "Ein Hund.\nEin Haus.\n")
        self.tokenizer = self.path / "tokenizer"
        self.learn = ("tokenizer", "train", "--kind", "char", "--input", self.text, "--out", self.tokenizer)
        self.assertEqual(run(*self.learn).returncode, 0)
        self.model = self.path / "model"
        subprocess.run([os.environ["HEED_MAKE_MODEL"], self.model, "kind=char", "vocabulary=0"], check=True)

    def assert_told(self, *arguments, text=b"Ein Hund.\n"):
        with self.subTest(" ".join(map(str, arguments[:2]))), FULL.open("wb") as full:
            result = run(*arguments, text=text, stdout=full)
            self.assertEqual((result.returncode, result.stderr), (2, ERROR))

    def test_it_fails_commands_that_only_print(self):
        for arguments in (("--help",), ("--version",), ("inspect", RECIPE), ("tokenizer", "inspect", "--model", self.tokenizer),
                          self.learn, ("bleu", "--reference", self.text), ("bleu", "--reference", self.text, "--json")):
            self.assert_told(*arguments, text=self.text.read_bytes())

    def test_it_fails_encoding_and_decoding(self):
        self.assert_told("tokenizer", "encode", "--model", self.tokenizer)
        self.assert_told("tokenizer", "encode", "--model", self.tokenizer, text=b"Ein Hund.\n" * 10000)
        self.assert_told("tokenizer", "decode", "--model", self.tokenizer, "--ids", text=b"5 6 7\n")

    def test_it_fails_commands_that_run_a_model(self):
        model, text = ("--model", self.model), ("--source", self.text)
        self.assert_told("translate", *model)
        self.assert_told("score", *model, *text, "--target", self.text)
        for more in ((), ("--json",)):
            self.assert_told("evaluate", *model, *text, "--reference", self.text, *more)
        self.assert_told("report", self.model)

    def test_it_fails_training_but_the_model_is_kept(self):
        """Hours of work must not be lost because a line cannot be shown."""
        out = self.path / "demo"
        self.assert_told("demo", "--out", out, "--updates", 2)
        again = self.path / "again"
        self.assert_told("train", out / "demo.toml", "--out", again)
        self.assertTrue((again / "model.safetensors").exists())
        self.assertIn('"event":"end"', (again / "metrics.jsonl").read_text())

    def test_it_fails_a_measurement(self):
        self.assert_told("bench", "train", "--shape", "tiny", "--steps", 1, "--warmup", 0)

    def test_it_ends_a_command_whose_input_goes_on(self):
        with FULL.open("wb") as full:
            process = subprocess.Popen([BINARY, "tokenizer", "encode", "--model", str(self.tokenizer)],
                                       stdin=subprocess.PIPE, stdout=full, stderr=subprocess.PIPE)
        try:
            try:
                for _ in range(1000):
                    process.stdin.write(b"Ein Hund.\n" * 1000)
                    process.stdin.flush()
            except BrokenPipeError:
                pass
            self.assertEqual(process.wait(60), 2)  # though the input is still open
            self.assertEqual(process.stderr.read(), ERROR)
        finally:
            process.kill()
            process.wait()
            process.stderr.close()
            try:
                process.stdin.close()
            except BrokenPipeError:
                pass

    def test_another_error_is_reported_first(self):
        with FULL.open("wb") as full:
            result = run("inspect", self.path / "absent.toml", stdout=full)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"absent.toml", result.stderr)


if __name__ == "__main__":
    unittest.main()
