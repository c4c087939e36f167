"""The scripts in recipes/, with stand-ins for heed that record its calls."""

import os
import subprocess
import tempfile
import unittest

POSITIONS = os.path.join(os.environ["HEED_SOURCE_DIR"], "recipes", "positions.sh")


class PositionsScript(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.TemporaryDirectory()
        self.addCleanup(self.top.cleanup)

    def run_script(self, *arguments):
        heed = os.path.join(self.top.name, "heed")
        with open(heed, "w") as file:
            file.write("#!/bin/sh\necho \"$*\" >> calls\n[ $1 = train ] || wc -c\n")
        os.chmod(heed, 0o755)
        return subprocess.run([POSITIONS, *arguments], cwd=self.top.name, capture_output=True, text=True,
                              env={**os.environ, "HEED": heed})

    def test_measures_each_kind_on_the_last_tenth_in_three_lengths(self):
        with open(os.path.join(self.top.name, "text"), "w") as file:
            file.write("0123456789" * 10 + "abcd")
        result = self.run_script("out", "text")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        with open(os.path.join(self.top.name, "calls")) as file:
            calls = file.read().splitlines()
        for positions in ("none", "sinusoidal", "learned", "rotary", "alibi", "relative-bias", "relative-keys",
                          "relative-keys-values"):
            self.assertIn("train recipes/shakespeare-char.toml --out out/" + positions + " --set data.train=text "
                          "--set model.positions=" + positions, calls)
            for length in (64, 128, 256):
                self.assertIn(f"perplexity --model out/{positions} --context {length}", calls)
        self.assertIn("perplexity --model out/rotary --context 256 --rotary-scaling yarn", calls)
        self.assertIn("alibi, 64 characters: 11\n", result.stdout)

    def test_says_which_text_is_missing(self):
        result = self.run_script("out", "nowhere")
        self.assertEqual(result.returncode, 2)
        self.assertIn("there is no text nowhere: name one after the folder\n", result.stderr)


if __name__ == "__main__":
    unittest.main()
