"""An exported model in llama.cpp's own runtime, where bench/peers/install_llama_cpp has installed it."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["HEED_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "bench" / "peers"))
import llama_cpp  # noqa: E402
import llama_cpp_agrees as agrees  # noqa: E402

if not llama_cpp.is_installed():
    print(f"skipped: llama.cpp is not there; {llama_cpp.INSTALL}")
    sys.exit(77)

SETTINGS = ["architecture=causal-lm", "positions=rotary", "width=64", "inner=96", "model.key_value_heads=2", "model.activation=silu",
            "model.gated=true", "model.norm=rms", "model.bias=false", "model.output_bias=false"]
GPT2_SETTINGS = ["architecture=causal-lm", "positions=learned", "width=64", "inner=96", "model.activation=gelu-tanh",
                 "model.output_bias=false"]
DATA = pathlib.Path(os.environ.get("HEED_DATA", SOURCE.parent / "shared" / "data"))
SHAKESPEARE = DATA / "shakespeare" / "input.txt"


class LlamaCpp(unittest.TestCase):
    def pair(self, *settings, form=SETTINGS):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        subprocess.run([os.environ["HEED_MAKE_MODEL"], path / "model", *form, *settings], check=True)
        return agrees.Pair(path / "model", path / "model.gguf", os.environ["HEED_BINARY"])

    def test_a_model_of_a_stream_agrees(self):
        pair = self.pair("model.tie=output", "model.rotary_base=500.0")
        self.assertEqual(pair.begin, [])
        lines = agrees.HARD_LINES + (SHAKESPEARE.read_text().split("\n")[-4000:] if SHAKESPEARE.is_file() else [])
        different, together, _ = agrees.compare_tokens(pair, lines)
        self.assertEqual(different, [])
        self.assertTrue(together)
        self.assertLess(agrees.compare_scores(pair, "A dog\n\n runs  in\nthe park")[0], 1e-4)
        for parting in agrees.compare_greedy(pair, ["A man", "Zwei\nHunde "], 24):
            self.assertTrue(parting is None or agrees.is_tie(parting[1]), parting)

    def test_models_of_documents_and_of_scaled_positions_agree(self):
        for scaling in ("linear", "ntk"):
            pair = self.pair("documents=line", "model.embedding_scale=sqrt-model", f"model.rotary_scaling={scaling}",
                             "model.rotary_factor=4.0")
            self.assertEqual(len(pair.begin), 1)
            self.assertLess(agrees.compare_scores(pair, "A dog runs in the park with a small child")[0], 1e-4, scaling)

    def test_a_model_of_the_gpt2_form_agrees(self):
        pair = self.pair("model.tie=output", form=GPT2_SETTINGS)
        # llama.cpp takes GELU from a table of f16 values.
        self.assertLess(agrees.compare_scores(pair, "A dog\n\n runs  in\nthe park")[0], 1e-2)
        for parting in agrees.compare_greedy(pair, ["A man", "Zwei\nHunde "], 24):
            self.assertIsNone(parting)

    def test_both_are_timed_on_the_same_weights(self):
        command = [SOURCE / "bench" / "compare", "--heed", os.environ["HEED_BINARY"], "--generate", "--against", "llama.cpp"]
        command += ["--shapes", "llama-11m", "--precision", "int8", "--rounds", "1", "--streams", "1", "2", "--prompt", "16"]
        result = subprocess.run([*command, "--tokens", "4", "--threads", "1"], capture_output=True, text=True, timeout=240)
        self.assertEqual(result.returncode, 0, result.stderr)
        names = re.findall(r"llama-11m (.+?) +heed int8 +[\d.]+ +llama\.cpp v\S+ q8_0 +[\d.]+ tokens/s +ratio +\d", result.stdout)
        self.assertEqual(names, ["prompt of 16", "1 stream", "2 streams"], result.stdout)


if __name__ == "__main__":
    unittest.main()
