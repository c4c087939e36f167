"""The recipe shakespeare-char on its text, for a quarter of its updates."""

import json
import os
import pathlib
import tempfile
import unittest

from heed_cli import SOURCE, heed

TEXT = pathlib.Path(os.environ.get("HEED_DATA", SOURCE.parent / "shared" / "data")) / "shakespeare" / "input.txt"


@unittest.skipUnless(TEXT.exists(), f"there is no {TEXT}")
class TrainShakespeare(unittest.TestCase):
    # The frequencies of pairs of characters give 2.48 nats; a whole run reaches 1.78.
    def test_a_quarter_of_the_run_learns_more_than_pairs_of_characters(self):
        with tempfile.TemporaryDirectory() as folder:
            result = heed("train", SOURCE / "recipes" / "shakespeare-char.toml", "--out", folder, "--set",
                          f"data.train={TEXT}", "--set", "training.updates=500", "--set", "schedule.length=500",
                          timeout=300)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            events = [json.loads(line) for line in (pathlib.Path(folder) / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual(events[0]["train_bytes"] + events[0]["validation_bytes"], TEXT.stat().st_size)
        self.assertLess(events[-2]["loss"], 2.25)


if __name__ == "__main__":
    unittest.main()
