"""What the tests of heed train share: running a recipe, what it leaves, and killing it."""

import random
import shutil
import signal
import subprocess
import time

import heed_cli
from heed_cli import BINARY, heed

# The beginning of a small translator's recipe, for the text that write_pairs() makes.
SMALL_TRANSLATOR = """[model]
model = 32
inner = 64
heads = 2
encoder_layers = 1
decoder_layers = 1

[data]
train_source = ["train.a"]
train_target = ["train.b"]
validation_source = ["valid.a"]
validation_target = ["valid.b"]
batch_target_tokens = 500

[tokenizer]
kind = "word"
vocabulary = 0

"""


def write_pairs(test, *, train, valid, shortest, translate):
    """So many lines of `shortest` to six letters, and what `translate` makes of each list of them."""
    draw = random.Random(5)
    for name, lines in (("train", train), ("valid", valid)):
        texts = [[draw.choice("abcdefgh") for _ in range(draw.randint(shortest, 6))] for _ in range(lines)]
        test.file(name + ".a", "".join(" ".join(text) + "\n" for text in texts))
        test.file(name + ".b", "".join(" ".join(translate(text)) + "\n" for text in texts))


class TrainTest(heed_cli.CliTest):
    """Tests of `self.recipe`, whose runs are folders by name."""

    def train(self, name, *more, **options):
        return heed("train", self.recipe, "--out", self.path / name, *more, **options)

    def weights(self, name):
        return (self.path / name / "model.safetensors").read_bytes()

    def assert_kills_change_nothing(self, *more, moments):
        """A run killed at so many random moments, and resumed each time, leaves the bits of one that was left alone."""
        begin = time.perf_counter()
        self.train("unbroken", *more)
        whole = time.perf_counter() - begin
        draw = random.Random(5)
        kills = 0
        killed = self.path / "killed"
        while True:
            arguments = [BINARY, "train", str(self.recipe), "--out", str(killed), *more]
            begun = (killed / "recipe.toml").exists()
            process = subprocess.Popen(arguments + (["--resume"] if begun else []), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
            try:
                error = process.communicate(
                    timeout=draw.uniform(0.05, 0.6) * whole if kills < moments else 120 * heed_cli.PATIENCE)[1]
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                kills += 1
                continue
            self.assertEqual((process.returncode, error), (0, ""))
            if kills > 0:
                break
            # Something else slowed the unbroken run down: begin again, and kill sooner.
            shutil.rmtree(killed)
            whole /= 2
        self.assertEqual(self.weights("killed"), self.weights("unbroken"))
