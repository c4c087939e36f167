"""Other programs' models with something wrong: each command that reads them refuses in one line that names the file and
what is wrong there, and leaves nothing behind."""

import json
import re
import shutil
import struct
import unittest

import heed_cli
import safetensors_file
from heed_cli import SOURCE, heed

GOLDEN = SOURCE / "tests" / "interchange" / "golden"


class ImportRefusals(heed_cli.CliTest):
    def copy(self, name):
        folder = self.path / "source"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(GOLDEN / name, folder)
        return folder

    def change(self, name, file, edit):
        """A copy of a model with a JSON file edited."""
        folder = self.copy(name)
        content = json.loads((folder / file).read_text())
        edit(content)
        (folder / file).write_text(json.dumps(content))
        return folder

    def assert_no_model(self, source, *mentions, command=("generate", "--prompt", "a", "--max-tokens", "1")):
        """Nor is any other command content with it. The same line says why."""
        imported = self.path / "imported"
        line = self.assert_refused("import", source, "--out", imported, mentions=mentions)
        self.assertFalse(imported.exists())
        self.assertEqual(self.assert_refused(command[0], "--model", source, *command[1:], text="a\n"), line)
        self.assertEqual(sorted(path.name for path in self.path.iterdir()), ["source"])

    def change_tensors(self, name, edit):
        folder = self.copy(name)
        metadata, tensors = safetensors_file.read(folder / "model.safetensors")
        tensors = {name: entry[:3] for name, entry in tensors.items()}
        edit(tensors)
        safetensors_file.write(folder / "model.safetensors", tensors, metadata)
        return folder

    def test_missing_shards(self):
        source = self.copy("decoders/opt-shards")
        (source / "pytorch_model-00002-of-00002.bin").unlink()
        self.assert_no_model(source, f"{source}/", "pytorch_model-00002-of-00002.bin")
        source = self.change("decoders/opt-shards", "pytorch_model.bin.index.json",
                             lambda index: index["weight_map"].update({"model.decoder.layers.0.fc1.bias": "../elsewhere.bin"}))
        self.assert_no_model(source, f"{source}/pytorch_model.bin.index.json", "../elsewhere.bin")

    def test_tensors_that_are_missing_or_have_other_shapes(self):
        name = "model.layers.0.mlp.up_proj.weight"

        def cut(tensors):
            kind, (rows, columns), content = tensors[name]
            tensors[name] = kind, [rows - 1, columns], content[:len(content) // rows * (rows - 1)]

        self.assert_no_model(self.change_tensors("decoders/llama", cut), "model.safetensors", name)
        self.assert_no_model(self.change_tensors("decoders/llama", lambda tensors: tensors.pop(name)), "model.safetensors", name)

        def add(tensors):
            tensors["model.layers.0.mlp.gate.weight"] = tensors[name]

        self.assert_no_model(self.change_tensors("decoders/llama", add), "model.safetensors", "model.layers.0.mlp.gate.weight")

    def test_a_configuration_that_contradicts_the_tensors(self):
        for key, value in (("hidden_size", 16), ("intermediate_size", 48), ("vocab_size", 100), ("num_hidden_layers", 3),
                           ("num_key_value_heads", 1)):
            with self.subTest(key):
                source = self.change("decoders/llama", "config.json", lambda config: config.update({key: value}))
                self.assert_no_model(source, f"{source}/", "model.safetensors" if key != "vocab_size" else "")

    def test_architectures_and_settings_that_heed_has_not(self):
        for changes, mentions in (({"architectures": ["MambaForCausalLM"], "model_type": "mamba"}, ("mamba",)),
                                  ({"hidden_act": "sinc"}, ("hidden_act", "sinc")),
                                  ({"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, ("rope_scaling", "dynamic")),
                                  ({"rms_norm_eps": "small"}, ("rms_norm_eps",)),
                                  ({"num_attention_heads": 5}, ("heads 5",))):
            with self.subTest(changes):
                source = self.change("decoders/llama", "config.json", lambda config: config.update(changes))
                self.assert_no_model(source, f"{source}/config.json", *mentions)
        source = self.copy("decoders/llama")
        (source / "config.json").write_text("{")
        self.assert_no_model(source, f"{source}/config.json")
        for content, mention in (("{}", f"{source}/config.json: has no \"model_type\""), (None, f"{source}: is not a model of")):
            (source / "config.json").unlink()
            if content is not None:
                (source / "config.json").write_text(content)
            self.assert_refused("import", source, "--out", self.path / "imported", mentions=(mention,))

    def test_tokenizers_that_do_not_fit(self):
        source = self.copy("decoders/llama")
        tokenizer = json.loads((source / "tokenizer.json").read_text())
        for number in range(400):
            tokenizer["added_tokens"].append({"id": 1000 + number, "content": f"<new{number}>", "single_word": False, "lstrip": False,
                                              "rstrip": False, "normalized": False, "special": True})
        (source / "tokenizer.json").write_text(json.dumps(tokenizer))
        self.assert_no_model(source, str(source), "tokens")
        split = {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated", "invert": False}
        source = self.change("decoders/llama", "tokenizer.json", lambda tokenizer: tokenizer.update(pre_tokenizer=split))
        self.assert_no_model(source, f"{source}/tokenizer.json", "has a '(' without its ')'")
        source = self.change("decoders/llama", "tokenizer.json",
                             lambda tokenizer: tokenizer.update(pre_tokenizer={"type": "Morphology"}))
        self.assert_no_model(source, f"{source}/tokenizer.json", "Morphology")
        source = self.change("decoders/llama", "tokenizer.json", lambda tokenizer: tokenizer["model"].update(type="Words"))
        self.assert_no_model(source, f"{source}/tokenizer.json", "Words")
        source = self.copy("decoders/llama")
        (source / "tokenizer.json").unlink()
        self.assert_no_model(source, str(source), "tokenizer")

    def test_a_template_that_loops_or_reaches_out(self):
        ask = '{"messages": [{"role": "user", "content": "hi"}]}\n'
        for template, mention in (("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
                                   "chat_template:1: the template takes more than 5000000 steps"),
                                  ("{{ 'a' * 1000000000 }}", "chat_template:1: the result is longer than"),
                                  ("{{ messages.__class__ }}", "__class__"),
                                  ("{{ open('/etc/passwd') }}", "open"),
                                  ("{% for a in %}", "chat_template:1: expected a value"),
                                  ("{% include 'x' %}", "include")):
            with self.subTest(template):
                source = self.change("decoders/llama", "tokenizer_config.json",
                                     lambda config: config.update(chat_template=template))
                result = heed("generate", "--model", source, "--json", "--max-tokens", 1, text=ask)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertRegex(result.stderr, rf"^heed: {source}/tokenizer_config\.json: .*{re.escape(mention)}.*\n$")

    def test_files_that_claim_more_than_they_have(self):
        source = self.copy("decoders/llama")
        weights = (source / "model.safetensors").read_bytes()
        for header in (struct.pack("<Q", 1 << 62), struct.pack("<Q", len(weights)), struct.pack("<Q", 3)):
            (source / "model.safetensors").write_bytes(header + weights[8:])
            self.assert_no_model(source, f"{source}/model.safetensors")


if __name__ == "__main__":
    unittest.main()
