"""heed train from other programs' models: the recipes that ship, what a result keeps, and what is refused."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import train_cli
from heed_cli import SOURCE, heed

GOLDEN = SOURCE / "tests" / "interchange" / "golden"
TRANSLATORS, ENCODERS, DECODERS = (GOLDEN / name for name in ("encoder_decoders", "encoders", "decoders"))
CTRANSLATE2 = pathlib.Path(os.environ.get("HEED_DATA", SOURCE.parent / "shared" / "data")) / "ct2-transliteration"
SOURCES = ["a cat", "the cat is on it", "the dog is here", "a cat is on the cat", "the end", "no one is in"]
TARGETS = ["it is", "the cat", "a dog", "on it", "the sea", "an inn"]
TEMPLATE = """{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
TALKS = [[("user", "the cat"), ("assistant", "is on it")],
         [("system", "be a dog"), ("user", "a cat"), ("assistant", "a dog"), ("user", "the hat"),
          ("assistant", "it is on the cat")]]
QUICKLY = ("--set", "schedule.peak=0.01", "--set", "schedule.kind=constant", "--set", "schedule.warmup=1", "--set", "training.precision=f32", "--set",
           "training.log_every=1", "--set", "training.epochs=40", "--set", "validation.patience=0", "--threads", "1")


def talk(messages, **more):
    return json.dumps({"messages": [{"role": role, "content": content} for role, content in messages], **more})


def sets(**values):
    return [part for key, value in values.items() for part in ("--set", f"{key.replace('__', '.')}={value}")]


class FineTuning(train_cli.TrainTest):
    def setUp(self):
        super().setUp()
        self.source = self.file("train.source", "".join(line + "\n" for line in SOURCES))
        self.target = self.file("train.target", "".join(line + "\n" for line in TARGETS))
        self.labeled = self.file("train.tsv", "".join(
            f"{line}\t{'cat' if 'cat' in line else 'none'}\n" for line in SOURCES))
        self.talks = self.file("train.jsonl", "".join(talk(one) + "\n" for one in TALKS))

    def own_model(self, name, group=DECODERS, template=TEMPLATE):
        """A copy of a golden model, with a chat template."""
        folder = self.path / name
        shutil.copytree(group / name, folder)
        if template is not None:
            (folder / "chat_template.jinja").write_text(template)
        return folder

    def use(self, recipe, **values):
        self.recipe = SOURCE / "recipes" / f"finetune-{recipe}.toml"
        text = {"translation": dict(data__train_source=self.source, data__train_target=self.target,
                                    data__validation_source=self.source, data__validation_target=self.target,
                                    data__max_length=24, data__batch_target_tokens=80, training__smoothing=0),
                "classifier": dict(data__train=self.labeled, data__validation=self.labeled),
                "chat": dict(data__train=self.talks, data__validation=self.talks, data__context=100)}[recipe]
        return [*QUICKLY, *sets(**{**text, **values})]

    def use_whole(self, **values):
        """The chat recipe without its adapter."""
        options = self.use("chat", **values)
        text = self.recipe.read_text()
        self.recipe = self.file("whole.toml", text[:text.index("[adapter]")] + text[text.index("[schedule]"):])
        return options

    def run_recipe(self, name, options, *more):
        result = self.train(name, *options, *more)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        losses = [float(loss) for loss in re.findall(r"(?m)^update \d+ .*?loss (\d+\.\d+)", result.stdout)]
        self.assertLess(losses[-1], 0.7 * losses[0], result.stdout)
        return result.stdout

    def description(self, name):
        return json.loads((self.path / name / "config.json").read_text())

    def test_a_translator_is_adapted_and_keeps_its_form_marks_and_decoding(self):
        options = self.use("translation", training__from=TRANSLATORS / "marian", training__epochs=150)
        out = self.run_recipe("run", options)
        self.assertRegex(out, r"(?m)^(\d+) of \1 weights taken from .*marian; 0 start from random values, 0 of the other "
                              r"model's are unused \(metrics\.jsonl lists them\)$")
        self.assertEqual(heed("import", TRANSLATORS / "marian", "--out", self.path / "imported").returncode, 0)
        ours, theirs = self.description("run"), self.description("imported")
        self.assertEqual(ours["marks"], theirs["marks"])
        self.assertEqual(ours["decoding"], theirs["decoding"])
        self.assertEqual({key: value for key, value in ours["model"].items()},
                         {key: value for key, value in theirs["model"].items()})
        found = heed("translate", "--model", self.path / "run", text="".join(line + "\n" for line in SOURCES))
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        # Random models know little: some of the lines are what was trained.
        self.assertGreater(sum(a == b for a, b in zip(found.stdout.splitlines(), TARGETS)), 2, found.stdout)

    def test_all_other_programs_translators_and_their_languages_can_be_adapted(self):
        languages = {"m2m-100": ("en", "de"), "nllb": ("eng_Latn", "deu_Latn"), "mbart-50": ("en_XX", "de_DE")}
        for name in ("m2m-100", "nllb", "mbart-50", "t5", "bart"):
            source, target = languages.get(name, ("", ""))
            options = self.use("translation", training__from=TRANSLATORS / name, data__source_language=source,
                               data__target_language=target, training__epochs=80)
            self.run_recipe(name, options)
            chosen = ("--source-language", source, "--target-language", target) if source else ()
            found = heed("translate", "--model", self.path / name, *chosen, text="the end\n")
            self.assertEqual((found.returncode, found.stderr), (0, ""), name)
            if source:
                self.assertTrue(self.description(name)["marks"]["language_form"])
                self.assert_refused("translate", "--model", self.path / name, "--target-language", "xx", text="a\n",
                                    mentions=("target language 'xx' is none of the model's",))
                unknown = [*options, "--set", "data.target_language=xx"]
                self.assert_refused("train", self.recipe, "--out", self.path / "x", *unknown, stdout=None,
                                    mentions=("target language 'xx' is none of the model's",))
                self.assertFalse((self.path / "x").exists())

    def test_a_model_that_writes_several_languages_must_be_told_which(self):
        model = self.own_model("m2m-100", TRANSLATORS, None)
        for name in ("config.json", "generation_config.json"):
            settings = json.loads((model / name).read_text())
            settings.pop("forced_bos_token_id", None)
            (model / name).write_text(json.dumps(settings))
        options = self.use("translation", training__from=model)
        self.assert_refused("train", self.recipe, "--out", self.path / "x", *options, stdout=None,
                            mentions=("data.target_language: is not set",))

    def test_an_adapter_on_another_programs_model_is_merged_and_needs_that_model(self):
        base = self.own_model("marian", TRANSLATORS, None)
        options = self.use("translation", training__from=base, adapter__rank=8, adapter__alpha=64,
                           adapter__matrices="*attention*,*feed_forward*", training__epochs=60,
                           # So few weights learn slowly: what dropout does to the last update would decide.
                           model__embedding_dropout=0, model__attention_dropout=0, model__inner_dropout=0,
                           model__branch_dropout=0)
        self.run_recipe("adapter", options)
        adapter, merged, imported = (self.path / name for name in ("adapter", "merged", "imported"))
        self.assertFalse((adapter / "model.safetensors").exists())
        self.assertEqual(heed("merge", "--adapter", adapter, "--out", merged).returncode, 0)
        text = "the end\na cat\n"
        both = [heed("translate", "--model", model, "--precision", "f32", text=text) for model in (adapter, merged)]
        self.assertEqual([one.returncode for one in both], [0, 0], both[0].stderr + both[1].stderr)
        self.assertEqual(both[0].stdout, both[1].stdout)
        self.assertRegex(heed("inspect", adapter).stdout, rf"(?m)^adapter of rank 8 .* base {base.resolve()}$")
        report = heed("report", adapter, "--out", self.path / "page.html")
        self.assertEqual((report.returncode, report.stderr), (0, ""))
        # An import of the base is the same model.
        self.assertEqual(heed("import", base, "--out", imported).returncode, 0)
        other = self.path / "merged-2"
        self.assertEqual(heed("merge", "--adapter", adapter, "--model", imported, "--out", other).returncode, 0)
        self.assertEqual((other / "model.safetensors").read_bytes(), (merged / "model.safetensors").read_bytes())
        self.assert_refused("merge", "--adapter", adapter, "--model", TRANSLATORS / "t5", "--out", self.path / "x",
                            mentions=("belongs to another model",))
        base.rename(self.path / "away")
        self.assert_refused("translate", "--model", adapter, text=text, mentions=("its base is not in",))

    def test_an_adapter_on_a_gguf_file_has_the_blocks_that_inference_has(self):
        model = self.path / "model"
        subprocess.run([os.environ["HEED_MAKE_MODEL"], model, "architecture=causal-lm", "positions=rotary", "width=64",
                        "inner=96", "max_length=256", "documents=line", "model.activation=silu", "model.gated=true",
                        "model.norm=rms", "model.bias=false", "model.output_bias=false"], check=True)
        template = self.file("own.jinja", "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}{{ eos_token }}{% endfor %}"
                                          "{% if add_generation_prompt %}a:{% endif %}")
        for blocks in ("q8_0", "q4_0"):
            base, adapter, imported, merged, other = (
                self.path / f"{blocks}{what}" for what in (".gguf", "", "-imported", "-merged", "-other"))
            made = heed("export", "--model", model, "--out", base, "--type", blocks)
            self.assertEqual((made.returncode, made.stderr), (0, ""))
            trained = self.train(blocks, *self.use("chat", training__from=base, data__chat_template=template))
            self.assertEqual((trained.returncode, trained.stderr), (0, ""))
            found = heed("generate", "--model", adapter, "--max-tokens", "5", text=talk(TALKS[0][:1]) + "\n")
            self.assertEqual((found.returncode, found.stderr), (0, ""))
            # An import of the base is the same model.
            self.assertEqual(heed("import", base, "--out", imported).returncode, 0)
            for more in (("--out", merged), ("--model", imported, "--out", other)):
                result = heed("merge", "--adapter", adapter, *more)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual((other / "model.safetensors").read_bytes(), (merged / "model.safetensors").read_bytes())

    @unittest.skipUnless(CTRANSLATE2.exists(), "the trained model is not there")
    def test_a_trained_ctranslate2_model_is_adapted_from_what_it_knows(self):
        source = self.file("ar", "آ ت ز م و ن\nآ ت ز م\nم و ن\n")
        target = self.file("en", "a t z m o n\na t z m\nm o n\n")
        options = self.use("translation", training__from=CTRANSLATE2, data__train_source=source, data__train_target=target,
                           data__validation_source=source, data__validation_target=target, schedule__peak="1e-4",
                           training__epochs=6)
        out = self.run_recipe("run", options)
        self.assertLess(float(re.search(r"update 1 .*loss (\d+\.\d+)", out)[1]), 0.5, "it was not trained before")
        found = heed("translate", "--model", self.path / "run", text=source.read_text())
        self.assertEqual(found.stdout, target.read_text())

    def test_an_encoder_becomes_a_classifier_with_the_labels_of_the_text(self):
        for name in ("bert", "roberta-masked", "sentence-minilm", "xlm-roberta-token", "t5-encoder"):
            options = self.use("classifier", training__from=ENCODERS / name)
            out = self.run_recipe(name, options)
            self.assertRegex(out, r"(?m)^\d+ of \d+ weights taken from .*; 2 start from random values")
            self.assertEqual(self.description(name)["model"]["labels"], ["cat", "none"])
            found = heed("classify", "--model", self.path / name, text="a cat\nthe end\n")
            self.assertEqual((found.returncode, found.stderr), (0, ""))
            self.assertEqual([line.split("\t")[0] for line in found.stdout.splitlines()], ["cat", "none"], name)

    def test_pairs_have_the_types_of_the_models_tokenizer(self):
        pairs = self.file("pairs.tsv", "".join(f"{a}\t{b}\t{'cat' if 'cat' in a else 'none'}\n"
                                               for a, b in zip(SOURCES, TARGETS)))
        for name, types in (("roberta", 1), ("bert", 2), ("distilbert", 0)):
            options = self.use("classifier", training__from=ENCODERS / name, data__train=pairs, data__validation=pairs,
                               data__pairs="true")
            self.run_recipe(name, options)
            self.assertEqual(self.description(name)["model"]["token_types"], types)
        # A tokenizer that tells more types apart than the model has.
        bert, one = ENCODERS / "bert", self.path / "one"
        shutil.copytree(ENCODERS / "roberta", one)
        for file in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
            shutil.copy(bert / file, one / file)
        options = self.use("classifier", training__from=one, data__train=pairs, data__validation=pairs, data__pairs="true")
        self.assert_refused("train", self.recipe, "--out", self.path / "x", *options, stdout=None,
                            mentions=("model.token_types is 1",))

    def test_an_encoder_becomes_a_tagger(self):
        words = self.file("words", "the O\ncat A\nis O\n\na O\ndog A\n\n" * 4)
        self.recipe = self.file("tag.toml", f"""
            [data]
            train = ["{words}"]
            [training]
            task = "tag"
            from = "{ENCODERS / 'bert-token'}"
            [checkpoints]
            final = "last"
            """)
        self.run_recipe("tagger", QUICKLY)
        self.assertEqual(self.description("tagger")["model"]["labels"], ["A", "O"])
        found = heed("tag", "--model", self.path / "tagger", text="the cat is\n")
        self.assertEqual((found.returncode, found.stderr), (0, ""))

    def test_a_chat_model_learns_what_the_assistant_says_and_where_it_ends(self):
        base = self.own_model("qwen2")
        options = self.use("chat", training__from=base, training__epochs=120)
        out = self.run_recipe("adapter", options)
        self.assertRegex(out, r"training text: 2 conversations, \d+ tokens, \d+ of them learned")
        merged = self.path / "merged"
        self.assertEqual(heed("merge", "--adapter", self.path / "adapter", "--out", merged).returncode, 0)
        self.assertEqual((merged / "chat_template.jinja").read_text(), TEMPLATE)
        im_end = json.loads((base / "tokenizer.json").read_text())["added_tokens"][2]
        self.assertEqual(im_end["content"], "<|im_end|>")
        self.assertEqual(self.description("merged")["marks"]["ends"], [51, im_end["id"]])
        prompts = [TALKS[0][:1], TALKS[1][:2], TALKS[1][:4]]
        found = heed("generate", "--model", merged, "--json", "--temperature", "0", "--max-tokens", "30",
                     text="".join(talk(one) + "\n" for one in prompts))
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        answers = [json.loads(line) for line in found.stdout.splitlines()]
        self.assertEqual([(one["text"].strip(), one["reason"]) for one in answers],
                         [("is on it", "end"), ("a dog", "end"), ("it is on the cat", "end")])

    def test_a_whole_chat_model_is_trained_with_a_template_from_a_file(self):
        template = self.file("own.jinja", TEMPLATE)
        options = self.use_whole(training__from=DECODERS / "qwen2", data__chat_template=template)
        self.run_recipe("run", options)
        self.assertEqual((self.path / "run" / "chat_template.jinja").read_text(), TEMPLATE)
        self.assertTrue((self.path / "run" / "model.safetensors").exists())
        prepared = self.path / "prepared"
        made = heed("prepare", self.recipe, "--out", prepared, *options)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        self.train("again", *options, "--prepared", prepared)
        self.assertEqual(self.weights("again"), self.weights("run"))
        template.write_text(TEMPLATE + " ")
        self.assert_refused("train", self.recipe, "--out", self.path / "x", *options, "--prepared", prepared, stdout=None,
                            mentions=("prepare it again",))

    def test_a_model_of_heed_that_was_trained_on_a_stream_learns_to_end_its_answers(self):
        stream = self.path / "stream"
        subprocess.run([os.environ["HEED_MAKE_MODEL"], stream, "architecture=causal-lm", "kind=byte", "vocabulary=0",
                        "positions=rotary", "max_length=256", "documents=none"], check=True)
        template = self.file("own.jinja", "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}{{ eos_token }}{% endfor %}"
                                          "{% if add_generation_prompt %}a:{% endif %}")
        options = self.use_whole(training__from=stream, data__chat_template=template, training__epochs=80)
        self.run_recipe("run", options)
        self.assertNotIn("documents", self.description("run"))
        found = heed("generate", "--model", self.path / "run", "--json", "--temperature", "0", "--max-tokens", "30",
                     text=talk(TALKS[1][:2]) + "\n")
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        answer = json.loads(found.stdout)
        self.assertEqual((answer["text"], answer["reason"]), ("a dog", "end"))

    def test_a_run_is_resumed_without_the_model_that_it_began_from(self):
        base = self.own_model("qwen2")
        options = self.use_whole(training__from=base, checkpoints__final="last")
        self.run_recipe("whole", options)
        self.train("stopped", *options, "--set", "training.epochs=20")
        base.rename(self.path / "away")
        resumed = self.train("stopped", *options, "--resume")
        self.assertEqual((resumed.returncode, resumed.stderr), (0, ""))
        self.assertEqual(self.weights("stopped"), self.weights("whole"))

    def test_plan_and_inspect_know_the_model(self):
        for recipe, model in (("translation", TRANSLATORS / "nllb"), ("classifier", ENCODERS / "bert"),
                              ("chat", DECODERS / "qwen2")):
            options = [part for part in sets(training__from=model, data__context=64)] if recipe == "chat" else sets(
                training__from=model)
            self.recipe = SOURCE / "recipes" / f"finetune-{recipe}.toml"
            planned = heed("plan", self.recipe, "--json", *options, *(("--length", "16") if recipe != "chat" else ()))
            self.assertEqual((planned.returncode, planned.stderr), (0, ""), recipe)
            shown = heed("inspect", self.recipe, *options)
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), recipe)
            self.assertRegex(shown.stdout, r"(?m)^\d+ of \d+ weights taken from ")

    def test_settings_that_differ_from_the_model_are_refused_by_their_key(self):
        options = self.use("classifier", training__from=ENCODERS / "bert")
        for key, value, has in (("heads", 2, 4), ("activation", '"relu"', '"gelu"'), ("encoder_layers", 1, 2),
                                ("max_length", 16, 36), ("norm_placement", '"pre"', '"post"')):
            self.assert_refused("train", self.recipe, "--out", self.path / "x", *options, "--set", f"model.{key}={value}",
                                mentions=(f"{self.recipe}: model.{key} is {value}, but the model in {ENCODERS / 'bert'} has "
                                          f"{has} (training.from): leave the key out",))
        self.assertFalse((self.path / "x").exists())
        # What belongs to the run may be set.
        self.assertEqual(self.train("run", *options, *sets(model__inner_dropout=0.3, model__head_layer="tanh",
                                                           training__epochs=1)).returncode, 0)

    def test_text_that_is_no_conversation_is_refused_by_file_and_line(self):
        base = self.own_model("qwen2")
        good = talk(TALKS[0])
        user, told = ("user", "a"), ("assistant", "b")
        for line, mention in [
                (talk([user, ("asistant", "b")]), 'message 2 has the role "asistant", did you mean \'assistant\'?'),
                ("{}", 'no "messages"'),
                ('{"messages": []}', '"messages" is not a list, or empty'),
                ('{"messages": [{"role": "user"}]}', 'message 1 has no "content"'),
                (talk([user]), "no message is the assistant's"),
                (talk([user, ("assistant", "")]), "message 2 is the assistant's and says nothing"),
                (talk([user, told], id=1), 'the key "id" is not known'),
                ("not JSON", "not JSON at byte 2"),
                (good[:-1], "not JSON at byte")]:
            data = self.file("bad.jsonl", f"{good}\n\n{line}\n")
            options = self.use("chat", training__from=base, data__train=data)
            self.assert_refused("train", self.recipe, "--out", self.path / "x", *options, stdout=None,
                                mentions=(f"{data}:3: ", mention))
            self.assertFalse((self.path / "x").exists())
        for content, mention in [("", "holds no conversation"), (good.replace("on it", "on it " * 90) + "\n",
                                                                 "all 1 conversations are longer than data.context 100")]:
            data = self.file("bad.jsonl", content)
            options = self.use("chat", training__from=base, data__train=data)
            self.assert_refused("train", self.recipe, "--out", self.path / "x", *options, stdout=None, mentions=(mention,))
        for template, mention in [
                ("{{ raise_exception('not so') }}", "train.jsonl:1: "), ("{% for %}", "chat_template.jinja:1: "),
                ("{{ messages | length }}{{ messages[-1].content }}", "where the answer in message 2 lies can't be told"),
                (None, "the model has no chat template")]:
            (base / "chat_template.jinja").write_text(template or "")
            if template is None:
                (base / "chat_template.jinja").unlink()
            options = self.use("chat", training__from=base)
            self.assert_refused("train", self.recipe, "--out", self.path / "x", *options, stdout=None, mentions=(mention,))
        self.assertFalse((self.path / "x").exists())

    def test_what_is_missing_is_refused(self):
        for recipe in ("translation", "classifier", "chat"):
            options = self.use(recipe, training__from=self.path / "nowhere")
            self.assert_refused("train", self.recipe, "--out", self.path / "x", *options,
                                mentions=("nowhere: there is no such model directory",))
        options = self.use("classifier", training__from=ENCODERS / "bert")
        other = self.file("validation.tsv", "a cat\tdog\n")
        self.assert_refused("train", self.recipe, "--out", self.path / "x", *options, "--set", f"data.validation={other}",
                            stdout=None, mentions=("validation.tsv:1: the label 'dog' is not in the training text",))
        options = self.use("chat", training__from=TRANSLATORS / "bart", data__context=20)
        self.assert_refused("train", self.recipe, "--out", self.path / "x", *options, stdout=None,
                            mentions=("chat template",))
        self.assert_refused("train", self.recipe, "--out", self.path / "x", *self.use("chat", training__from=""),
                            mentions=("there is no [model] table",))
        self.assertFalse((self.path / "x").exists())


if __name__ == "__main__":
    unittest.main()
