"""How much memory a command that loads a model takes: each weight once, and little more; quantized ones shared."""

import os
import pathlib
import subprocess
import tempfile
import time
import unittest

from heed_cli import BINARY, SOURCE

MULTI30K = pathlib.Path(os.environ.get("HEED_DATA", SOURCE.parent / "shared" / "data")) / "multi30k"
MAKE_MODEL = os.environ["HEED_MAKE_MODEL"]
PARAMETERS_AT_LEAST = 50_000_000
BESIDE = 60_000_000
LINES = "".join(f"{words}\n" for words in ["ein Hund", "zwei Frauen lesen ein Buch", "das Haus ist rot"] * 12)


def peak_memory(arguments, text, **environment):
    """The peak resident memory of a run of the program, in bytes."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as written:
        given.write(text.encode())
        given.seek(0)
        process = subprocess.Popen([BINARY, *map(str, arguments)], stdin=given, stdout=written,
                                   env={**os.environ, **environment})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise AssertionError(f"{arguments} ended with {process.returncode}")
        return usage.ru_maxrss * 1024


def mapped_memory(process):
    """What a process has of model.safetensors in memory, in bytes; zeros before it is mapped."""
    found = dict.fromkeys(("Rss", "Pss", "Private_Clean", "Private_Dirty"), 0)
    inside = False
    for line in pathlib.Path(f"/proc/{process}/smaps").read_text().splitlines():
        key, _, value = line.partition(":")
        if "-" in line.split(" ")[0]:
            inside = line.endswith("/model.safetensors")
        elif inside and key in found:
            found[key] += 1024 * int(value.split()[0])
    return found


class Memory(unittest.TestCase):
    def assert_each_weight_is_held_once(self, layers, command, options, text):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "model"
            sizes = ["width=512", "inner=2048", "heads=8"]
            subprocess.run([MAKE_MODEL, model, "kind=char", "vocabulary=0", *sizes, *layers], check=True)
            parameters = (model / "model.safetensors").stat().st_size / 4
            self.assertGreaterEqual(parameters, PARAMETERS_AT_LEAST)
            # With AVX2 alone no processor multiplies bf16 in pairs: operands are widened.
            for precision, bytes_of_weight, environment in (("f32", 4, {}), ("bf16", 2, {}),
                                                            ("bf16", 2, {"HEED_CPU": "avx2"})):
                with self.subTest(precision, **environment):
                    words = [command, "--model", model, "--precision", precision, *options]
                    peak = peak_memory(words, text, **environment)
                    self.assertLessEqual(peak, 1.15 * bytes_of_weight * parameters + BESIDE)

    def test_translating_holds_each_weight_once(self):
        self.assert_each_weight_is_held_once(["layers=7"], "translate", ["--max-tokens", 8], LINES)

    @unittest.skipUnless(MULTI30K.is_dir(), f"no {MULTI30K}: set HEED_DATA")
    def test_memory_does_not_grow_with_the_lines(self):
        # The promise is for translations about as long as their sources, for which a quarter more is foreseen: a line of
        # s tokens, its end included, has room for 1 + s + s / 4 of its translation, or for 1 + --max-tokens if that is
        # less. Random weights write each line to its maximum length. So lines of 15 words and more, which may have 20
        # tokens, and longer ones, which may have 80, take just what is foreseen: 21 = 1 + 16 + 16 / 4, and 81 is less
        # than 1 + 64 + 64 / 4. With other lengths this model would show how wrong the guess is, not whether the budget
        # is kept.
        lines = (MULTI30K / "test2016.de").read_text().splitlines()
        text = "".join(f"{line}\n" for line in lines if len(line.split()) >= 15)
        joined = [" ".join(lines[i : i + 7]) for i in range(0, 350, 7)]
        long = "".join(f"{line}\n" for line in joined if 63 <= len(line.split()) <= 90)
        self.assertGreater(text.count("\n"), 140)
        self.assertGreater(long.count("\n"), 15)
        with tempfile.TemporaryDirectory() as folder:
            # What multi30k-word-prenorm.toml describes.
            model = pathlib.Path(folder) / "model"
            subprocess.run([MAKE_MODEL, model, "kind=word", "vocabulary=0", f"source={MULTI30K / 'train.de'}",
                            f"target={MULTI30K / 'train.en'}", "width=512", "inner=2048", "heads=8", "layers=6",
                            "max_length=128", "model.tie=none", "model.norm_placement=pre"], check=True)
            weights = (model / "model.safetensors").stat().st_size / 4
            self.assertGreaterEqual(weights, PARAMETERS_AT_LEAST)
            for precision, bytes_of_weight in (("f32", 4), ("bf16", 2)):
                for beam in (1, 4):
                    for name, given, length in (("many", text, 20), ("long", long, 80)):
                        with self.subTest(f"{name} lines", precision=precision, beam=beam):
                            peak = peak_memory(["translate", "--model", model, "--precision", precision, "--threads", 2,
                                                "--beam", beam, "--max-tokens", length], given)
                            self.assertLessEqual(peak, 1.15 * bytes_of_weight * weights + BESIDE)

    def test_generating_holds_each_weight_once(self):
        # Keys and values take 64 KB a token here: those of many prompts would outweigh the weights.
        layers, prompts = ["architecture=causal-lm", "layers=16"], "".join(LINES.splitlines(True)[:6])
        self.assert_each_weight_is_held_once(layers, "generate", ["--max-tokens", 8], prompts)

    def test_processes_share_the_weights_of_a_quantized_model(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "model"
            subprocess.run([MAKE_MODEL, model, "kind=char", "vocabulary=0", "width=512", "inner=2048", "heads=8",
                            "architecture=causal-lm", "layers=16"], check=True)
            for weights in ("int8", "bf16", "f16"):
                with self.subTest(weights):
                    small = pathlib.Path(folder) / weights
                    subprocess.run([BINARY, "quantize", "--model", model, "--out", small, "--type", weights], check=True,
                                   stdout=subprocess.DEVNULL)
                    self.assert_processes_share_the_weights_of(small)

    def assert_processes_share_the_weights_of(self, model):
        size = (model / "model.safetensors").stat().st_size
        self.assertGreaterEqual(size, PARAMETERS_AT_LEAST)
        words = [BINARY, "generate", "--model", model, "--threads", "1", "--max-tokens", "2", "--precision", "f32"]
        peak = peak_memory(words[1:], "a\n")
        self.assertLessEqual(peak, 1.1 * size + 50_000_000)
        running = [subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
        try:
            for process in running:  # it waits for the second prompt when it has answered the first
                process.stdin.write(b"a\n")
                process.stdin.flush()
            deadline = time.monotonic() + 60
            # What only one of them has read yet is its own until the other one reads it too.
            def has_own(process):
                mapped = mapped_memory(process.pid)
                return mapped["Rss"] < 0.99 * size or mapped["Private_Dirty"] + mapped["Private_Clean"] >= 0.01 * size
            while any(has_own(process) for process in running):
                self.assertLess(time.monotonic(), deadline, mapped_memory(running[0].pid))
                time.sleep(0.05)
            for process in running:
                mapped = mapped_memory(process.pid)
                self.assertLess(mapped["Pss"], 0.51 * mapped["Rss"])
        finally:
            for process in running:
                process.stdin.close()
                process.stdout.read()
                process.stdout.close()
                self.assertEqual(process.wait(timeout=60), 0)


if __name__ == "__main__":
    unittest.main()
