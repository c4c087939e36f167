"""Other programs' models from outside: what heed import makes of them, and what is refused."""

import json
import shutil
import unittest

import heed_cli
from heed_cli import SOURCE, heed

GOLDEN = SOURCE / "tests" / "interchange" / "golden"
GREEDY = ("--temperature", 0, "--max-tokens", 6, "--prompt", "the cat")
LANGUAGES = ("--source-language", "eng_Latn", "--target-language", "deu_Latn")


class ImportTest(heed_cli.CliTest):
    def answer(self, *arguments):
        result = heed(*arguments, "--threads", 1, text="the cat sat\n")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def test_an_imported_model_answers_as_the_original(self):
        for name, command, options in (("decoders/llama", "generate", GREEDY), ("decoders/gpt2-pickled", "generate", GREEDY),
                                       ("gguf/gemma-3/model.gguf", "generate", GREEDY),
                                       ("gguf/llama-q8_0/model.gguf", "generate", GREEDY),
                                       ("encoder_decoders/marian-apart", "translate", ("--scores",)),
                                       ("encoder_decoders/t5", "translate", ("--scores",)),
                                       ("encoder_decoders/nllb", "translate", LANGUAGES),
                                       ("encoders/sentence-dense", "embed", ()), ("encoders/bert-token", "tag", ())):
            with self.subTest(name):
                imported, small = self.path / f"{name}-imported", self.path / f"{name}-int8"
                imported.parent.mkdir(parents=True, exist_ok=True)
                self.assertEqual(heed("import", GOLDEN / name, "--out", imported).returncode, 0)
                self.assertEqual(self.answer(command, "--model", imported, *options),
                                 self.answer(command, "--model", GOLDEN / name, *options))
                self.assertEqual(heed("quantize", "--model", imported, "--out", small).returncode, 0)
                self.answer(command, "--model", small, *options)

    def test_a_model_s_own_settings_of_decoding_are_the_defaults(self):
        source, imported = self.path / "source", self.path / "imported"
        shutil.copytree(GOLDEN / "encoder_decoders" / "t5", source)
        settings = json.loads((source / "generation_config.json").read_text())
        settings.update(num_beams=4, length_penalty=2.0, early_stopping="never", max_length=7)
        (source / "generation_config.json").write_text(json.dumps(settings))
        self.assertEqual(heed("import", source, "--out", imported).returncode, 0)
        given = ("--beam", 4, "--length-penalty", 2, "--early-stopping", "never", "--max-tokens", 6)
        for model in (source, imported):
            scores = ("translate", "--model", model, "--scores")
            found = self.answer(*scores)
            self.assertEqual(found, self.answer(*scores, *given))
            for i in (0, 2, 6):
                other = [*given[:i + 1], {0: 1, 2: 0.5, 6: 9}[i], *given[i + 2:]]
                self.assertEqual(self.answer(*scores, *other[i:i + 2]), self.answer(*scores, *other))
            self.assertNotEqual(found, self.answer(*scores, "--beam", 1))
        notes = heed("inspect", source).stdout
        self.assertIn("generation_config.json: num_beams = 4\n", notes)
        self.assertIn("decoded by default with beam 4, length_penalty 2, early_stopping never, max_tokens 6\n",
                      heed("inspect", imported).stdout)

    def test_a_language_model_s_own_settings_of_sampling_are_the_defaults(self):
        source = self.path / "source"
        shutil.copytree(GOLDEN / "decoders" / "gpt2", source)
        generate = ("generate", "--model", source, "--prompt", "the cat", "--seed", 3, "--json")
        (source / "generation_config.json").write_text('{"do_sample": true, "top_k": 1, "max_new_tokens": 5}')
        greedy = self.answer(*generate, "--temperature", 0)
        self.assertEqual(self.answer(*generate), greedy)
        self.assertIn('"tokens": 5,', greedy)
        self.assertNotEqual(self.answer(*generate, "--top-k", 0), greedy)
        self.assertIn('"tokens": 4,', self.answer(*generate, "--max-tokens", 4))
        self.assertIn('"tokens": 5,', self.answer("generate", "--model", source, "--prompt", "the cat", "--json",
                                                   "--beam", 2))

    def test_a_refused_model_leaves_no_folder(self):
        source, imported = self.path / "source", self.path / "imported"
        shutil.copytree(GOLDEN / "decoders" / "llama", source)
        weights = (source / "model.safetensors").read_bytes()
        (source / "model.safetensors").write_bytes(weights[:len(weights) // 2])
        result = heed("import", source, "--out", imported)
        self.assertEqual(result.returncode, 2)
        self.assertIn(f"{source}/model.safetensors: ", result.stderr)
        self.assertFalse(imported.exists())

    def test_a_model_without_heads_is_refused(self):
        for name, key in (("llama", "num_attention_heads"), ("gpt-neox", "num_attention_heads"), ("gpt2", "n_head")):
            source = self.path / name
            shutil.copytree(GOLDEN / "decoders" / name, source)
            settings = json.loads((source / "config.json").read_text())
            (source / "config.json").write_text(json.dumps(settings | {key: 0}))
            result = heed("import", source, "--out", self.path / "imported")
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stderr, f'heed: {source}/config.json: "{key}" is 0, expected at least 1\n')

    def test_blocks_of_four_bits_stay_what_they_are(self):
        source, imported = GOLDEN / "gguf" / "llama-q4_0" / "model.gguf", self.path / "imported"
        self.assertEqual(heed("import", source, "--out", imported).returncode, 0)
        self.assertEqual(self.answer("generate", "--model", imported, *GREEDY),
                         self.answer("generate", "--model", source, *GREEDY))
        inspected = heed("inspect", source).stdout
        self.assertIn("16 matrices in Q4_0 stay what they are\n", inspected)
        self.assertRegex(inspected, r"attention\.output\.weight +\[32, 32\] +1024  int4 +576 bytes  from blk\.0\.attn_output\.weight")
        self.assertIn("model.gguf: llama.rope.freq_base = 20000\n", inspected)
        self.assertRegex(heed("inspect", imported).stdout, r"attention\.output\.weight +\[32, 32\] +1024  int4 +576 bytes")

    def test_blocks_of_eight_bits_stay_what_they_are(self):
        source, imported = GOLDEN / "gguf" / "llama-q8_0" / "model.gguf", self.path / "imported"
        self.assertEqual(heed("import", source, "--out", imported).returncode, 0)
        self.assertEqual(self.answer("generate", "--model", imported, *GREEDY),
                         self.answer("generate", "--model", source, *GREEDY))
        inspected = heed("inspect", source).stdout
        self.assertIn("16 matrices in Q8_0 stay what they are\n", inspected)
        self.assertRegex(inspected, r"attention\.output\.weight +\[32, 32\] +1024  int8-groups +1088 bytes  from blk\.0\.attn_output\.weight")
        self.assertRegex(heed("inspect", imported).stdout, r"attention\.output\.weight +\[32, 32\] +1024  int8-groups +1088 bytes")

    # From the file, and from a directory made of it, by the same floats.
    def assert_can_quantize_train_and_export(self, source):
        imported = self.path / "imported"
        self.assertEqual(heed("import", source, "--out", imported).returncode, 0)
        text = self.path / "text"
        text.write_text("the cat sat\non the mat\n" * 4)
        answers = {}
        for model in (source, imported):
            for command in (("quantize", "--type", "int8", "--out", self.path / f"int8-{model.name}"),
                            ("export", "--format", "huggingface", "--out", self.path / f"floats-{model.name}")):
                result = heed(*command, "--model", model)
                self.assertEqual(result.returncode, 0, result.stderr)
                answers.setdefault(command[0], set()).add((command[-1] / "model.safetensors").read_bytes())
            for name, adapter in (("adapter", "[adapter]\nrank = 2\n"), ("trained", "")):
                recipe, trained = self.path / "recipe.toml", self.path / f"{name}-{model.name}"
                recipe.write_text(f'[training]\nfrom = "{model}"\nupdates = 2\n{adapter}[data]\ntrain = ["{text}"]\n'
                                  f'validation = ["{text}"]\ncontext = 8\nbatch_sequences = 2\n')
                result = heed("train", recipe, "--out", trained)
                self.assertEqual(result.returncode, 0, result.stderr)
                answers.setdefault(name, set()).add(self.answer("generate", "--model", trained, *GREEDY))
        self.assertEqual({name: len(found) for name, found in answers.items()},
                         {"quantize": 1, "export": 1, "adapter": 1, "trained": 1})

    def test_from_blocks_of_eight_bits_one_can_quantize_train_and_export(self):
        self.assert_can_quantize_train_and_export(GOLDEN / "gguf" / "llama-q8_0" / "model.gguf")

    def test_from_blocks_of_four_bits_one_can_quantize_train_and_export(self):
        self.assert_can_quantize_train_and_export(GOLDEN / "gguf" / "llama-q4_0" / "model.gguf")

    def test_a_damaged_gguf_file_is_refused_in_one_line(self):
        whole = (GOLDEN / "gguf" / "qwen3" / "model.gguf").read_bytes()
        damaged = {"cut": (whole[:-100], "tensor "), "type": (whole.replace(b"qwen3", b"qwen9"), "'general.architecture' is 'qwen9'"),
                   "key": (whole.replace(b"qwen3.block_count", b"qwen3.block_xount"), "there is no 'qwen3.block_count'")}
        for name, (content, mention) in damaged.items():
            file = self.path / f"{name}.gguf"
            file.write_bytes(content)
            result = heed("import", file, "--out", self.path / name)
            self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1), result.stderr)
            self.assertIn(f"{file}: ", result.stderr)
            self.assertIn(mention, result.stderr)
            self.assertFalse((self.path / name).exists())

    def test_words_and_marks_are_not_languages(self):
        for name, source in (("nllb", "eng_Latn"), ("mbart-50", "en_XX")):
            for language in ("a", "</s>"):
                result = heed("translate", "--model", GOLDEN / "encoder_decoders" / name, "--source-language", source,
                              "--target-language", language, text="the cat\n")
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(f"'{language}' is a token of the model, but not a language", result.stderr)

    def test_an_adapter_s_base_is_another_program_s_model_or_its_import(self):
        text = self.file("text", "the cat sat\n" * 8)
        original, imported = GOLDEN / "decoders" / "llama", self.path / "imported"
        self.assertEqual(heed("import", original, "--out", imported).returncode, 0)
        described = []
        for base in (original, imported):
            settings = heed("inspect", base).stdout.split("\n\n")[0].split("\nfamily")[0]
            model = "\n".join(line for line in settings.splitlines() if " = " in line and "_vocabulary" not in line)
            recipe = self.file("recipe.toml", f'[model]\n{model}\n[training]\nfrom = "{base}"\nupdates = 1\n'
                               f'[data]\ntrain = "{text}"\ncontext = 16\n[checkpoints]\nfinal = "last"\n[adapter]\n'
                               'rank = 2\nmatrices = ["*attention*"]\n')
            run = self.path / f"run-{len(described)}"
            result = heed("train", recipe, "--out", run, "--threads", 1)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            described.append({**json.loads((run / "adapter.json").read_text()), "base": None,
                              "weights": (run / "adapter.safetensors").read_bytes()})
        self.assertEqual(described[0], described[1])


if __name__ == "__main__":
    unittest.main()
