"""--device from outside, on the emulated device: its kernels run on the CPU, slowly, so everything is tiny."""

import ctypes
import json
import os
import shutil
import unittest

import heed_cli
from heed_cli import SOURCE, heed

GOLDEN = SOURCE / "tests" / "interchange" / "golden"
EMULATED = os.path.join(os.path.dirname(os.environ["HEED_BINARY"]), "libheed_cuda_emulated.so")
TEXT = "".join(f"{a} {b} {c}\n" for a in "ab" for b in "cde" for c in "fg") * 3
RECIPE = """
[model]
architecture = "causal-lm"
model = 16
inner = 32
heads = 2
decoder_layers = 1
max_length = 16
positions = "learned"
[data]
train = ["train.txt"]
validation = ["validation.txt"]
context = 16
order = "windows"
batch_sequences = 4
[tokenizer]
kind = "char"
vocabulary = 0
[schedule]
kind = "constant"
peak = 0.01
[training]
precision = "f32"
updates = 4
log_every = 1
[validation]
every = 2
"""


class DeviceTest(heed_cli.CliTest):
    def setUp(self):
        super().setUp()
        os.environ["HEED_CUDA"] = EMULATED
        (self.path / "train.txt").write_text(TEXT)
        (self.path / "validation.txt").write_text(TEXT[:60])
        (self.path / "recipe.toml").write_text(RECIPE)

    def tearDown(self):
        os.environ.pop("HEED_CUDA", None)
        os.environ.pop("HEED_CUDA_FAULT", None)
        super().tearDown()

    def train(self, out, *options):
        return heed("train", self.path / "recipe.toml", "--out", out, *options)

    def losses(self, out):
        lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        return [line["loss"] for line in lines if line["event"] in ("train", "validation")]

    def require_close(self, found, expected):
        self.assertEqual(len(found), len(expected))
        for a, b in zip(found, expected):
            self.assertLess(abs(a - b), 2e-5 * abs(b), (found, expected))

    def test_trains_and_resumes_on_either_device(self):
        cpu, cuda = self.path / "cpu", self.path / "cuda"
        self.assertEqual(self.train(cpu, "--threads", 1).returncode, 0)
        result = self.train(cuda, "--device", "cuda", "--set", "training.updates=2")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        other = self.path / "other"
        shutil.copytree(cuda, other)
        for folder, device in ((cuda, "cuda"), (other, "cpu")):
            result = self.train(folder, "--resume", "--device", device, "--set", "training.updates=4")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.require_close(self.losses(folder), self.losses(cpu))

    def test_models_answer_as_on_the_processor(self):
        for name, command, options in (("decoders/llama", "generate", ("--temperature", 0, "--max-tokens", 4, "--prompt", "the cat")),
                                       ("encoder_decoders/marian-apart", "translate", ("--max-tokens", 4)),
                                       ("encoders/bert-sequence", "classify", ())):
            with self.subTest(name):
                answers = [heed(command, "--model", GOLDEN / name, "--precision", "f32", "--device", device, *options,
                                text="the cat sat\n") for device in ("cpu", "cuda")]
                self.assertEqual([a.returncode for a in answers], [0, 0], answers[1].stderr)
                self.assertEqual(answers[0].stdout, answers[1].stdout)

    def refused(self, *options):
        result = self.train(self.path / "refused", *options)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertFalse((self.path / "refused").exists())
        return result.stderr

    def test_what_is_not_there_is_named(self):
        self.assertIn("device is gpu, expected cpu, cuda or cuda:N", self.refused("--device", "gpu"))
        self.assertIn("there is no device 3", self.refused("--device", "cuda:3"))
        os.environ["HEED_CUDA"] = "/nowhere/libheed_cuda.so"
        self.assertIn("/nowhere/libheed_cuda.so is not there", self.refused("--device", "cuda"))

    def test_a_library_of_another_build_is_refused(self):
        make = ctypes.CDLL(EMULATED).heed_cuda_backend
        make.restype = ctypes.c_void_p
        self.assertIsNone(make(b"0123456789abcdef", 0))

    def test_a_device_that_fails_ends_the_run_and_keeps_its_last_checkpoint(self):
        out = self.path / "out"
        self.assertEqual(self.train(out, "--device", "cuda", "--set", "training.updates=2").returncode, 0)
        os.environ["HEED_CUDA_FAULT"] = "300"
        result = self.train(out, "--device", "cuda", "--resume", "--set", "training.updates=400")
        self.assertEqual(result.returncode, 2)
        self.assertIn("cuda: the device has failed", result.stderr)
        os.environ.pop("HEED_CUDA_FAULT")
        self.assertEqual(self.train(out, "--resume", "--set", "training.updates=4").returncode, 0)


if __name__ == "__main__":
    unittest.main()
