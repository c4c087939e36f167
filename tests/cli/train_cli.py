"""What the tests of heed train share: running a recipe, what it leaves, and killing it."""

import random
import signal
import subprocess
import time

import heed_cli
from heed_cli import BINARY, heed


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
        for attempt in range(moments + 1):
            begun = (self.path / "killed" / "recipe.toml").exists()
            arguments = [BINARY, "train", str(self.recipe), "--out", str(self.path / "killed"), *more]
            process = subprocess.Popen(arguments + (["--resume"] if begun else []), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
            try:
                error = process.communicate(timeout=draw.uniform(0.05, 0.6) * whole if attempt < moments else 120)[1]
                self.assertEqual((process.returncode, error), (0, ""))
                break
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                kills += 1
        self.assertGreater(kills, 0)
        self.assertEqual(self.weights("killed"), self.weights("unbroken"))
