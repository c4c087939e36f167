"""Limits of the address space, as batch systems set them: commands work wherever what they use fits."""

import resource
import unittest

from heed_cli import CliTest, heed

GIGABYTE = 1_000_000_000
# An allocator that takes the largest power of two first works under some of these and not under others.
LIMITS = [1, 2, 4, 6, 8, 16, 20, 32]
SENTENCES = [("ein hund", "a dog"), ("zwei frauen", "two women"), ("das haus", "the house"), ("ein rotes haus", "a red house")]


def limited(size):
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))}


class AddressSpace(CliTest):
    def trained(self, name, **options):
        for language, side in (("de", 0), ("en", 1)):
            self.file(f"train.{language}", "".join(f"{pair[side]}\n" for pair in SENTENCES * 25))
        recipe = self.file(f"{name}.toml", f"""
[model]
model = 32
inner = 64
heads = 2
encoder_layers = 1
decoder_layers = 1
max_length = 32

[data]
train_source = ["{self.path}/train.de"]
train_target = ["{self.path}/train.en"]
validation_source = ["{self.path}/train.de"]
validation_target = ["{self.path}/train.en"]
max_length = 20
batch_target_tokens = 200

[tokenizer]
kind = "word"
vocabulary = 0

[schedule]
peak = 0.01
warmup = 5

[training]
updates = 10
""")
        return heed("train", recipe, "--out", self.path / name, "--threads", "2", **options)

    def trained_language_model(self, name, **options):
        self.file("text.txt", "".join(f"{german} {english}\n" for german, english in SENTENCES * 25))
        recipe = self.file(f"{name}.toml", f"""
[model]
architecture = "causal-lm"
model = 32
inner = 64
heads = 2
decoder_layers = 1
max_length = 32

[data]
train = ["{self.path}/text.txt"]
validation_share = 0.1
context = 24
batch_sequences = 4

[tokenizer]
kind = "char"
vocabulary = 0

[schedule]
peak = 0.01
warmup = 5

[training]
updates = 10
""")
        return heed("train", recipe, "--out", self.path / name, "--threads", "2", **options)

    def assert_worked(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_training_and_writing_work_under_any_limit_that_they_fit(self):
        self.assert_worked(self.trained("translation"))
        self.assert_worked(self.trained_language_model("language"))
        translate = ["translate", "--model", self.path / "translation", "--threads", "2"]
        generate = ["generate", "--model", self.path / "language", "--prompt", "ein", "--max-tokens", "5", "--seed", "1",
                    "--threads", "2"]
        lines = "ein hund\ndas haus\n"
        expected = heed(*translate, text=lines).stdout, heed(*generate).stdout
        for size in LIMITS:
            with self.subTest(f"{size} GB"):
                options = limited(size * GIGABYTE)
                self.assert_worked(self.trained(f"translation-{size}", **options))
                self.assert_worked(self.trained_language_model(f"language-{size}", **options))
                found = heed(*translate, text=lines, **options), heed(*generate, **options)
                for result in found:
                    self.assert_worked(result)
                self.assertEqual(tuple(result.stdout for result in found), expected)

    def test_the_demo_works_under_any_limit_that_it_fits(self):
        for size in LIMITS[::2]:
            with self.subTest(f"{size} GB"):
                self.assert_worked(heed("demo", "--out", self.path / f"demo-{size}", "--updates", "2", "--threads", "2",
                                        **limited(size * GIGABYTE)))

    def test_what_does_not_fit_is_one_line_that_says_how_much_was_needed(self):
        result = heed("bench", "train", "--shape", "base", "--steps", "1", "--threads", "2", timeout=300,
                      **limited(GIGABYTE // 2))
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertRegex(result.stderr, r"^heed: memory: the system refused \d+ (more )?bytes")


if __name__ == "__main__":
    unittest.main()
