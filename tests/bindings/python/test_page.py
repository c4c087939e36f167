"""docs/library/python.md: each statement of its example runs, on small models."""

import ast
import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import heed
from heed_cli import SOURCE
from page_commands import write_text

GOLDEN = SOURCE / "tests" / "interchange" / "golden"
MODELS = {"llama": "decoders/llama", "all-MiniLM-L6-v2": "encoders/sentence-minilm"}
# The page has one encoder, but these need heads of their own.
HEADS = {"classify": "encoders/bert-sequence", "tag": "encoders/bert-token", "fill": "encoders/bert-masked"}
RECIPE = """[model]
architecture = "seq2seq"
model = 32
inner = 32
heads = 2
encoder_layers = 1
decoder_layers = 1
[data]
train_source = ["train.de"]
train_target = ["train.en"]
validation_source = ["valid.de"]
validation_target = ["valid.en"]
batch_target_tokens = 200
[tokenizer]
kind = "word"
minimum_count = 1
[schedule]
warmup = 1
length = 2
[training]
updates = 2
log_every = 1
"""


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        here = pathlib.Path(folder.name)
        for seed, lines, name in ((1, 60, "train"), (2, 6, "valid")):
            write_text(here, seed, lines, name)
        (here / "recipe.toml").write_text(RECIPE)
        subprocess.run([os.environ["HEED_MAKE_MODEL"], "model", "width=32", "layers=1", "shared=1", "kind=word"], check=True)
        for name, golden in MODELS.items():
            shutil.copytree(GOLDEN / golden, name)
        shutil.copy(SOURCE / "tests" / "text" / "chat" / "templates" / "chatml.jinja", "llama/chat_template.jinja")

    def run_statement(self, statement, names):
        """Runs a statement, and gives the values of its expressions."""
        if not isinstance(statement, ast.Expr):
            exec(ast.unparse(statement), names)
            return []
        calls = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
        values = []
        for call in calls:
            head = HEADS.get(getattr(getattr(call, "func", None), "attr", ""))
            given = {**names, "encoder": heed.Encoder(GOLDEN / head)} if head else names
            text = ast.unparse(call).replace("<mask>", "[MASK]") if head else ast.unparse(call)
            values.append(eval(text, given))
        return values

    def test_each_statement_runs(self):
        blocks = re.findall(r"```python\n(.*?)```", (SOURCE / "docs" / "library" / "python.md").read_text(), re.DOTALL)
        names = {"lines": ["ein Hund", "zwei Kinder"], "sources": ["ein Hund"], "targets": ["a dog"],
                 "texts": ["a dog", "a man"], "hypotheses": ["a dog runs in the park"],
                 "references": ["a dog runs in the park"]}
        count, values = 0, []
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            for statement in ast.parse("".join(blocks)).body:
                text = ast.unparse(statement)
                if text.startswith("heed.train("):
                    shutil.rmtree("model")
                with self.subTest(text):
                    values += self.run_statement(statement, names)
                    count += 1
        self.assertGreater(count, 15)
        self.assertIn("'event': 'train'", printed.getvalue())
        self.assertIn(100.0, [round(value["bleu"], 6) for value in values if isinstance(value, dict) and "bleu" in value])
        self.assertTrue(pathlib.Path("small", "model.safetensors").is_file())


if __name__ == "__main__":
    unittest.main()
