"""Models of other programs behind the server: answers are those of the offline commands on the same files."""

import json
import os
import pathlib
import subprocess
import tempfile

import heed_cli
from heed_server import Server, ServerTest, unittest
from offline_answers import assert_as_offline

GOLDEN = heed_cli.SOURCE / "tests" / "interchange" / "golden"
DATA = pathlib.Path(os.environ.get("HEED_DATA", heed_cli.SOURCE / ".." / "shared" / "data"))
PUBLISHED = DATA / "ct2-transliteration"
LLAMA = ["architecture=causal-lm", "positions=rotary", "model.activation=silu", "model.gated=true", "model.norm=rms",
         "model.bias=false", "model.output_bias=false", "model.embedding_scale=none", "documents=line"]
MARIAN = ["positions=sinusoidal", "model.sinusoid=halves", "model.norm_placement=post", "model.final_norm=false",
          "kind=unigram"]
EXPORTED = {"ctranslate2": (MARIAN, "ctranslate2", ["--type", "f32"]), "huggingface": (LLAMA, "huggingface", []),
            "gguf.gguf": (LLAMA, "gguf", ["--type", "f32"]), "gguf-q8.gguf": (LLAMA, "gguf", ["--type", "q8_0"])}


class OtherPrograms(ServerTest):
    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(made.cleanup)
        folder = pathlib.Path(made.name)
        cls.models = {name: GOLDEN / path for name, path in (
            ("golden-gguf", "gguf/llama/model.gguf"), ("golden-q4", "gguf/llama-q4_0/model.gguf"),
            ("golden-llama", "decoders/llama"), ("golden-marian", "encoder_decoders/marian"),
            ("golden-bert", "encoders/bert"))}
        for name, (form, format, options) in EXPORTED.items():
            own, out = folder / f"{name}-own", folder / name
            subprocess.run([os.environ["HEED_MAKE_MODEL"], own, *form], check=True)
            options = options if format == "gguf" else ["--format", format, *options]
            subprocess.run([heed_cli.BINARY, "export", "--model", own, "--out", out, *options], check=True,
                           stdout=subprocess.DEVNULL)
            cls.models[out.stem] = out
        if PUBLISHED.exists():
            cls.models["published"] = PUBLISHED
        cls.server = Server(*[word for name, path in cls.models.items() for word in ("--model", f"{name}={path}")])
        cls.addClassCleanup(cls.server.stop)

    def assert_served(self, path, fields):
        assert_as_offline(self, self.models[fields["model"]], path, fields, self.post(path, fields))

    def test_gguf_files_and_directories_of_hugging_face_write(self):
        for model in ("golden-gguf", "golden-q4", "golden-llama", "gguf", "gguf-q8", "huggingface"):
            for more in ({"temperature": 0}, {"seed": 3, "samples": 3}):
                with self.subTest(model, **more):
                    self.assert_served("/heed/generate", {"model": model, "prompt": "the cat is on it",
                                                          "max_tokens": 12, "tokens": True, **more})
            self.assert_served("/v1/completions", {"model": model, "prompt": "the cat", "max_tokens": 12, "seed": 1})

    def test_directories_of_ctranslate2_and_hugging_face_translate(self):
        for model in ("ctranslate2", "golden-marian"):
            for text in ("the cat is on it, and no dogs.", "on it"):
                for more in ({"beam": 1}, {"beam": 4, "n_best": 3}):
                    with self.subTest(model, text=text, **more):
                        self.assert_served("/heed/translate", {"model": model, "text": text, "max_tokens": 12,
                                                               "tokens": True, **more})

    @unittest.skipUnless(PUBLISHED.exists(), f"there is no {PUBLISHED}")
    def test_a_published_model_of_ctranslate2_translates(self):
        for text, expected in (("آ ت ز م و ن", "a t z m o n"), ("آ ت ش ي س و ن", "a c h i s o n"), ("آ ز ا", "a z z a")):
            for more in ({"beam": 1}, {"beam": 4, "n_best": 3}):
                fields = {"model": "published", "text": text, "tokens": True, **more}
                self.assert_served("/heed/translate", fields)
                self.assertEqual(self.post("/heed/translate", fields)["lines"][0]["translations"][0]["text"], expected)

    def test_encoders_of_hugging_face_embed(self):
        self.assert_served("/heed/embed", {"model": "golden-bert", "texts": ["the cat is on it", "on it"]})

    def test_they_say_what_they_are(self):
        import json
        kinds = {one["name"]: one["kind"] for one in json.loads(self.server.get("/heed/models")[1])["models"]}
        translators = dict.fromkeys(("ctranslate2", "golden-marian", "published"), "translator")
        others = {"golden-bert": "encoder", **translators}
        self.assertEqual(kinds, {name: others.get(name, "language-model") for name in self.models})


if __name__ == "__main__":
    unittest.main()
