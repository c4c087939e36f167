"""The Python module: the same results as the program's, errors that name the argument, threads, signals, forks."""

import ast
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest

import numpy

import heed
from heed_cli import BINARY, PATIENCE, SOURCE

LINES = ["ein Hund läuft", "die Frau liest ein Buch", "zwei Kinder"]


def run(*arguments, text=""):
    result = subprocess.run([BINARY, *map(str, arguments)], input=text, stdout=subprocess.PIPE, text=True, check=True)
    return result.stdout


def make_model(path, *options):
    subprocess.run([os.environ["HEED_MAKE_MODEL"], path, *options], check=True)
    return path


class ModuleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        cls.translator_path = make_model(cls.path / "translator", "scale=3")
        cls.generator_path = make_model(cls.path / "generator", "architecture=causal-lm", "scale=3")
        cls.encoder_path = make_model(cls.path / "encoder", "architecture=encoder")
        cls.translator = heed.Translator(cls.translator_path)
        cls.generator = heed.Generator(cls.generator_path)

    def refused(self, call, error, *mentions):
        with self.assertRaises(error) as raised:
            call()
        for mention in mentions:
            self.assertIn(mention, str(raised.exception))


class Translating(ModuleTest):
    def test_texts_and_scores_are_those_of_the_program(self):
        expected = run("translate", "--model", self.translator_path, "--beam", 4, "--n-best", 2, text="\n".join(LINES) + "\n")
        found = self.translator.translate(LINES, beam_size=4, num_hypotheses=2)
        lines = [f"{i} ||| {text} ||| {score:.6f}" for i, result in enumerate(found)
                 for text, score in zip(result.hypotheses, result.scores)]
        self.assertEqual("\n".join(lines) + "\n", expected)
        self.assertEqual(str(self.translator.translate(LINES[0], beam_size=4)), found[0].text)
        self.assertEqual(self.translator.translate([]), [])

    def test_scores_of_pairs_are_those_of_the_search(self):
        result = self.translator.translate(LINES)
        found = self.translator.score(LINES, [one.text for one in result])
        self.assertEqual(found.shape, (3,))
        self.assertAlmostEqual(self.translator.score(LINES[0], result[0].text), found[0])

    def test_prefixes_and_attention(self):
        result = self.translator.translate(LINES[0], target_prefix="the", max_length=8, return_attention=True, return_alignments=True)
        self.assertTrue(result.text.startswith("the"))
        weights = result.attention["weights"]
        self.assertEqual(weights.shape[2:], (len(result.attention["rows"]), len(result.attention["columns"])))
        self.assertTrue((abs(weights.sum(axis=-1) - 1.0) < 1e-3).all())
        self.assertEqual(len(result.alignments[0]), result.tokens[0] - 1)
        one = self.translator.attention(LINES[0], result.text, kind="encoder", layers=[1], heads=[0], norms=True)
        self.assertEqual(one["weights"].shape[:2], (1, 1))
        self.assertEqual(one["norms"].shape, one["weights"].shape)

    def test_callbacks_hear_all_pieces_and_what_they_raise_is_raised(self):
        pieces = {}
        found = self.translator.translate(LINES, callback=lambda i, piece: pieces.setdefault(i, []).append(piece))
        self.assertEqual(["".join(pieces.get(i, [])) for i in range(3)], [one.text for one in found])

        def fail(_line, _piece):
            raise KeyError("mine")
        self.refused(lambda: self.translator.translate(LINES, callback=fail), KeyError, "mine")
        self.refused(lambda: self.translator.translate(LINES, callback=lambda i, piece: True), heed.InterruptedError)
        self.assertEqual(self.translator.translate(LINES[0]).text, found[0].text)

    def test_wrong_arguments_are_named(self):
        translate = self.translator.translate
        for call, error, *mentions in [
                (lambda: translate(3), TypeError, "texts", "int"),
                (lambda: translate(["a", 1]), TypeError, "texts", "int"),
                (lambda: translate(b"a"), TypeError, "texts", "bytes"),
                (lambda: translate("a", beam_size="4"), TypeError, "beam_size", "str"),
                (lambda: translate("a", beam_size=2**70), TypeError, "beam_size"),
                (lambda: translate("a", beam_size=True), TypeError, "beam_size"),
                (lambda: translate("a", return_attention=1), TypeError, "return_attention"),
                (lambda: translate("a", beam_size=0), ValueError, "beam_size: 0, expected 1 or more"),
                (lambda: translate("a", beams=4), TypeError, "beams", "beam_size"),
                (lambda: translate("a", callback=3), TypeError, "callback"),
                (lambda: translate(["a", "b"], target_prefix=["c"]), ValueError, "target_prefix", "1 for 2"),
                (lambda: translate("a" * 5000), heed.FormatError, "texts[0]"),
                (lambda: self.translator.score(["a"], []), ValueError, "targets", "0 for 1"),
                (lambda: self.translator.attention("a", "b", kind="up"), ValueError, "kind", "cross"),
                (lambda: heed.Translator(self.path / "nowhere"), OSError, "nowhere"),
                (lambda: heed.Translator(3), TypeError, "model"),
                (lambda: heed.Translator(self.generator_path), heed.FormatError),
                (lambda: heed.Translator(self.translator_path, compute_type="f8"), ValueError, "compute_type", "bf16"),
                (lambda: heed.Translator(self.translator_path, threads=-1), ValueError, "threads")]:
            self.refused(call, error, *mentions)


    def test_numbers_and_lists_that_make_no_sense_are_named(self):
        for name, value in (("beam_size", 0), ("num_hypotheses", 0), ("max_length", -1), ("min_length", -1),
                            ("no_repeat_ngram_size", -1)):
            self.refused(lambda: self.translator.translate("a", **{name: value}), ValueError, f"{name}: {value}, expected")
        for name, value in (("max_new_tokens", 0), ("min_new_tokens", -1), ("top_k", -1), ("num_return_sequences", 0),
                            ("beam_size", 0)):
            self.refused(lambda: self.generator.generate("a", **{name: value}), ValueError, f"{name}: {value}, expected")
        self.refused(lambda: self.generator.generate("a", choices=[]), ValueError, "choices: ")
        self.refused(lambda: self.translator.score("a", ["b"]), TypeError, "'targets' must be a str, as")
        self.refused(lambda: self.translator.score(["a"], "b"), TypeError, "'targets' must be a list of str, as")
        self.refused(lambda: heed.Encoder(self.encoder_path).fill("a", top=0), ValueError, "top: 0, expected 1")
        self.refused(lambda: heed.similarity("a", [1.0]), TypeError, "'a' must be a row or a table")
        self.refused(lambda: heed.similarity([1.0], None), (TypeError, ValueError), "b: ")
        self.refused(lambda: heed.similarity([1.0], [[[1.0]]]), ValueError, "b: an array of 3 axes")
        self.refused(lambda: heed.similarity([1.0, 2.0], [1.0]), ValueError, "b: embeddings of 1 numbers, expected 2")

    def test_a_lone_surrogate_is_refused_with_the_argument_and_its_number(self):
        generator, encoder = self.generator, heed.Encoder(self.encoder_path)
        tokenizer = heed.Tokenizer(self.translator_path / "source.tokenizer")
        for call, name in [
                (lambda: self.translator.translate(["a", "\ud800"]), "texts[1]"),
                (lambda: self.translator.translate("a", target_prefix="\ud800"), "target_prefix"),
                (lambda: self.translator.translate("a", source_language="\ud800"), "source_language"),
                (lambda: self.translator.score(["a"], ["\ud800"]), "targets[0]"),
                (lambda: self.translator.attention("a", "\ud800"), "target"),
                (lambda: generator.generate("\ud800"), "prompts"),
                (lambda: next(generator.stream("\ud800")), "prompts"),
                (lambda: generator.perplexity("\ud800"), "text"),
                (lambda: encoder.encode(["a", "b", "\ud800"]), "texts[2]"),
                (lambda: tokenizer.encode("\ud800"), "texts"),
                (lambda: heed.bleu(["\ud800"], ["a"]), "hypotheses[0]"),
                (lambda: heed.train({"data": {"train": ["\ud800"]}}, self.path / "x"), "surrogates")]:
            self.refused(call, ValueError, name, "surrogates not allowed")

    def test_wrong_types_are_named_in_one_line(self):
        generator, encoder = self.generator, heed.Encoder(self.encoder_path)
        tokenizer = heed.Tokenizer(self.translator_path / "source.tokenizer")
        for call, name in [
                (lambda: heed.Translator(self.translator_path, threads="2"), "threads"),
                (lambda: heed.Translator(self.translator_path, threads=2**40), "threads"),
                (lambda: heed.Generator(self.generator_path, device=3), "device"),
                (lambda: heed.Encoder(self.encoder_path, compute_type=3), "compute_type"),
                (lambda: heed.Translator(self.translator_path, shortlist=3), "shortlist"),
                (lambda: self.translator.attention(3, "a"), "source"),
                (lambda: self.translator.attention("a", "b", layers=1), "layers"),
                (lambda: self.translator.source_tokens(3), "text"),
                (lambda: generator.attention("a", norms=1), "norms"),
                (lambda: generator.perplexity(3), "text"),
                (lambda: generator.chat(3), "messages"),
                (lambda: encoder.encode("a", batch_size="x"), "batch_size"),
                (lambda: encoder.encode("a", normalize_embeddings=3), "normalize_embeddings"),
                (lambda: encoder.encode("a", pooling=3), "pooling"),
                (lambda: encoder.tag(3), "sentences"),
                (lambda: encoder.tag("ab"), "sentences"),
                (lambda: encoder.tag([["a"], ["b", 3]]), r"sentences\[1\]\[1\]"),
                (lambda: self.translator.translate("a", beam_size=numpy.float32(2.5)), "beam_size"),
                (lambda: encoder.fill("a", top="x"), "top"),
                (lambda: tokenizer.decode([2**40]), r"ids\[0\]"),
                (lambda: tokenizer.id_to_token("a"), "id"),
                (lambda: tokenizer.token_to_id(3), "token"),
                (lambda: heed.bleu(["a"], ["a"], lowercase=3), "lowercase"),
                (lambda: heed.quantize("a", "b", type=3), "type"),
                (lambda: heed.report("a", output=3), "output"),
                (lambda: heed.inspect("a", overrides="model.heads=2"), "overrides"),
                (lambda: heed.train("a", 3), "output"),
                (lambda: heed.train("a", "b", overrides="model.heads=2"), "overrides"),
                (lambda: heed.train("a", "b", callbacks=3), "callbacks"),
                (lambda: heed.train("a", "b", resume=1), "resume"),
                (lambda: heed.train("a", "b", threads="x"), "threads")]:
            with self.assertRaises(TypeError) as raised:
                call()
            self.assertRegex(str(raised.exception), rf"\A[\w.]+\(\): argument '{name}' must be .+, not .+\Z")

    def test_paths_may_be_any_that_the_system_has(self):
        raw = os.path.join(os.fsencode(self.path), b"caf\xe9")
        os.symlink(self.translator_path, raw)
        self.assertEqual(heed.Translator(os.fsdecode(raw)).parameters, self.translator.parameters)
        os.unlink(raw)
        self.refused(lambda: heed.Translator(os.fsdecode(raw)), OSError, os.fsdecode(raw))
        self.refused(lambda: heed.Translator(f"{self.translator_path}\0x"), ValueError, "model", "null")


class Writing(ModuleTest):
    def test_texts_are_those_of_the_program(self):
        options = ["--temperature", 0.8, "--seed", 7, "--max-tokens", 20, "--n", 2, "--json"]
        expected = [json.loads(line) for line in
                    run("generate", "--model", self.generator_path, "--prompt", "the dog", *options).splitlines()]
        found = self.generator.generate("the dog", temperature=0.8, seed=7, max_new_tokens=20, num_return_sequences=2)
        self.assertEqual(found.texts, [one["text"] for one in expected])
        self.assertEqual(found.finish_reasons, [one["reason"] for one in expected])

    def test_streams_are_the_text_and_may_be_closed(self):
        options = {"temperature": 0.0, "max_new_tokens": 30}
        self.assertEqual("".join(self.generator.stream("the", **options)), self.generator.generate("the", **options).text)
        stream = self.generator.stream("the", max_new_tokens=100000)
        next(stream)
        stream.close()
        self.refused(lambda: list(self.generator.stream(3)), TypeError, "prompt")
        self.refused(lambda: list(self.generator.stream("a", top_p="x")), TypeError, "top_p")

    def test_rules_and_errors(self):
        self.assertIn(self.generator.generate("a", choices=["yes", "no"]).text, ("yes", "no"))
        self.refused(lambda: self.generator.generate("a", temperature="hot"), TypeError, "temperature")
        self.refused(lambda: self.generator.generate("a", heat=1.0), TypeError, "heat", "temperature")
        self.refused(lambda: self.generator.chat([{"role": "user"}]), TypeError, "messages")
        self.refused(lambda: self.generator.chat([{"role": "user", "content": "a"}]), heed.Error, "chat template")
        (self.generator_path / "chat_template.jinja").write_text("{% for one in messages %}{{ one.content }}{% endfor %}")
        messages = [{"role": "user", "content": "the"}]
        self.assertEqual(self.generator.chat(iter(messages), temperature=0.0).text,
                         self.generator.generate("the", temperature=0.0).text)
        (self.generator_path / "chat_template.jinja").unlink()
        self.assertGreater(self.generator.perplexity("the dog"), 1.0)


class Reading(ModuleTest):
    def test_embeddings_are_those_of_the_program_without_a_copy(self):
        encoder = heed.Encoder(self.encoder_path)
        source, target = self.path / "lines", self.path / "rows.npy"
        source.write_text("\n".join(LINES) + "\n")
        run("embed", "--model", self.encoder_path, "--input", source, "--npy", target, "--normalize")
        found = encoder.encode(LINES, normalize_embeddings=True)
        self.assertEqual(found.dtype, numpy.float32)
        self.assertTrue(found.flags["C_CONTIGUOUS"] and found.flags["OWNDATA"])
        self.assertTrue((found == numpy.load(target)).all())
        self.assertTrue((encoder.encode(LINES[0], normalize_embeddings=True) == found[0]).all())
        table = encoder.similarity(found, found)
        self.assertEqual(table.shape, (3, 3))
        self.assertTrue((abs(table.diagonal() - 1.0) < 1e-5).all())
        self.refused(lambda: encoder.encode(LINES, batch_size=0), ValueError, "batch_size")
        self.refused(lambda: encoder.classify("a"), heed.Error)

    def test_tokens(self):
        tokenizer = heed.Tokenizer(next(self.translator_path.glob("source.tokenizer")))
        encoding = tokenizer.encode("ein Hund")
        self.assertEqual(tokenizer.decode(encoding.ids), "ein Hund")
        self.assertEqual([tokenizer.token_to_id(token) for token in encoding.tokens], encoding.ids)
        self.assertEqual([len(one) for one in tokenizer.encode(["ein", ""])], [len(tokenizer.encode("ein")), 0])
        for number in (-1, tokenizer.vocabulary_size):
            self.refused(lambda: tokenizer.id_to_token(number), ValueError, f"id: {number}, expected 0 to")


    def test_offsets_count_characters_of_the_text(self):
        text = "Ein  Mädchen 日 li\0est"
        for kind in ("bpe", "unigram", "wordpiece", "word", "char", "byte"):
            path = make_model(self.path / f"kind-{kind}", "architecture=causal-lm", f"kind={kind}",
                              f"vocabulary={400 if kind in ('bpe', 'unigram', 'wordpiece') else 0}")
            encoding = heed.Tokenizer(path / "text.tokenizer").encode(text)
            self.assertEqual(len(encoding.offsets), len(encoding.ids), kind)
            parts = [text[begin:end] for begin, end in encoding.offsets]
            empty = [token for token, part in zip(encoding.tokens, parts) if not part]
            self.assertIn(empty, ([], ["\u2581"]), kind)  # the space that models add before a text
            self.assertEqual(list(encoding.offsets), sorted(encoding.offsets))
            if kind in ("char", "word"):
                self.assertEqual("".join(parts).replace(" ", ""), text.replace(" ", ""))
            if kind == "byte":
                self.assertEqual(parts.count("日"), 3)
        batch = heed.Tokenizer(path / "text.tokenizer").encode([text, "a", ""])
        self.assertEqual([one.offsets for one in batch], [encoding.offsets, [(0, 1)], []])


RECIPE = {"model": {"architecture": "causal-lm", "model": 32, "inner": 64, "heads": 2, "decoder_layers": 1,
                    "max_length": 32},
          "data": {"validation_share": 0.1, "context": 32, "batch_sequences": 4},
          "tokenizer": {"kind": "char", "vocabulary": 0},
          "schedule": {"peak": 0.005, "warmup": 5},
          "training": {"updates": 20, "log_every": 5},
          "validation": {"every": 10}}


class Training(ModuleTest):
    def test_a_run_tells_its_metrics_stops_and_goes_on(self):
        text = self.path / "text"
        text.write_text("the dog sees the cat\n" * 200)
        recipe = {**RECIPE, "data": {**RECIPE["data"], "train": [str(text)]}}
        events = []
        result = heed.train(recipe, self.path / "run", callbacks=[events.append], threads=1)
        self.assertEqual(result["reason"], "updates")
        self.assertEqual([one["update"] for one in events if one["event"] == "train"], [5, 10, 15, 20])
        self.assertEqual(len([one for one in events if one["event"] == "validation"]), 2)
        stopped = heed.train(recipe, self.path / "stopped", callbacks=lambda event: event["event"] == "train", threads=1)
        self.assertEqual(stopped["reason"], "stopped")
        self.assertEqual(heed.train(recipe, self.path / "stopped", resume=True, threads=1)["reason"], "updates")
        self.assertEqual(*((self.path / name / "model.safetensors").read_bytes() for name in ("run", "stopped")))

        def fail(_event):
            raise ZeroDivisionError("mine")
        self.refused(lambda: heed.train(recipe, self.path / "failed", callbacks=[fail]), ZeroDivisionError, "mine")
        odd = self.path / 'a "b"\n\x7f\\c'
        text.rename(odd)
        recipe["data"]["train"] = [odd]
        self.assertEqual(heed.train(recipe, self.path / "odd", threads=1)["reason"], "updates")
        self.refused(lambda: heed.train(3, self.path / "x"), TypeError, "recipe")
        self.refused(lambda: heed.train({"model": {"x": {1}}}, self.path / "x"), TypeError, "recipe")
        self.assertIn("decoder.layers.0", " ".join(heed.inspect(self.path / "run")["parameters"]))

    def test_recipes_are_settings_by_name(self):
        text = self.path / "lines"
        text.write_text("the dog sees the cat\n" * 200)
        recipe = heed.Recipe(RECIPE)
        recipe.set({"data.train": [str(text)], "training.updates": 10})
        self.assertEqual((recipe["model.heads"], recipe["model.norm_placement"]), (2, "pre"))
        self.assertIn("model.epsilon", recipe)
        self.assertNotIn("epsilon", recipe.to_dict()["model"])
        file = self.path / "saved.toml"
        recipe.save(file)
        again = heed.Recipe.load(file, overrides=["model.heads=4"])
        self.assertEqual(dict(again), {**recipe, "model.heads": 4})
        self.assertEqual(dict(heed.Recipe(types.MappingProxyType(recipe.to_dict()))), dict(recipe))
        del again["model.heads"]
        self.assertNotIn("heads", again.to_dict()["model"])
        result = heed.train(heed.Recipe(recipe), self.path / "by-recipe", threads=1)
        self.assertEqual(result["reason"], "updates")
        with_run = heed.plan(recipe, threads=1, run=True)
        cost = heed.plan(file)
        self.assertGreater(with_run.pop("timing")["update_seconds"], 0.0)
        self.assertIsNone(cost.pop("timing"))
        self.assertEqual(cost, with_run)
        self.assertEqual(cost["parameters"], sum(part["parameters"] for part in cost["parts"].values()))
        recipe.set({"training.minutes": numpy.float64(0.5), "model.heads": numpy.int64(2)})
        self.assertEqual((recipe["training.minutes"], recipe["model.heads"]), (0.5, 2))
        before = dict(recipe)
        for call, error, mention in [
                (lambda: recipe.__setitem__("model.heads", "two"), heed.ConfigError, "recipe: heads"),
                (lambda: recipe.__setitem__("model.haeds", 2), heed.ConfigError, "heads"),
                (lambda: recipe.__setitem__("heads", 2), TypeError, "not 'heads'"),
                (lambda: recipe.__setitem__("model.heads", {1}), TypeError, "a set is not a setting"),
                (lambda: recipe.__delitem__("model.haeds"), KeyError, "haeds"),
                (lambda: recipe.set(3), TypeError, "'settings' must be"),
                (lambda: recipe.set({"heads": 2}), TypeError, "not 'heads'"),
                (lambda: recipe.set({3: 2}), TypeError, "not 3"),
                (lambda: recipe.save(3), TypeError, "'path' must be"),
                (lambda: heed.Recipe(3), TypeError, "'recipe' must be"),
                (lambda: heed.Recipe.load(RECIPE), TypeError, "'path' must be"),
                (lambda: heed.Recipe.load(self.path / "nowhere.toml"), OSError, "nowhere"),
                (lambda: heed.plan(3), TypeError, "'recipe' must be"),
                (lambda: heed.plan({"model": {"heads": 3}}), heed.ConfigError, "recipe: model: heads 3"),
                (lambda: heed.plan(recipe, run=1), TypeError, "'run' must be"),
                (lambda: heed.plan(recipe, overrides=["model.heads=x"]), heed.ConfigError, "heads")]:
            self.refused(call, error, mention)
        self.assertEqual(dict(recipe), before)

    def test_tools(self):
        result = heed.quantize(self.translator_path, self.path / "small", type="int8")
        self.assertLess(result["bytes_after"], result["bytes_before"])
        self.assertAlmostEqual(heed.bleu(["a b c d e"], ["a b c d e"])["bleu"], 100.0)
        self.refused(lambda: heed.bleu(["a"], []), ValueError, "references")
        self.refused(lambda: heed.quantize(self.translator_path, self.path / "y", type="int9"), ValueError, "type", "int8")


class Processes(ModuleTest):
    def test_handles_cannot_be_pickled(self):
        tokenizer = heed.Tokenizer(next(self.translator_path.glob("source.tokenizer")))
        for handle in (self.translator, self.generator, heed.Encoder(self.encoder_path), tokenizer):
            self.refused(lambda handle=handle: pickle.dumps(handle), TypeError, "cannot pickle", "in the other process")

    def test_a_child_says_that_it_has_no_model(self):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                self.translator.translate("ein Hund")
                message = "nothing was raised"
            except RuntimeError as error:
                message = str(error)
            os.write(writing, message.encode())
            os._exit(0)
        os.waitpid(child, 0)
        self.assertIn("before fork()", os.read(reading, 1000).decode())

    def test_threads_share_a_model(self):
        expected = [one.text for one in self.translator.translate(LINES)]
        found = [None] * 8

        def work(number):
            found[number] = [self.translator.translate(line).text for line in LINES]
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 8)

    def test_the_interpreter_goes_on_meanwhile(self):
        beats, stop = [], threading.Event()

        def beat():
            while not stop.wait(0.005):
                beats.append(time.monotonic())
        thread = threading.Thread(target=beat)
        thread.start()
        self.generator.generate(["the"] * 16, max_new_tokens=300, temperature=1.0)
        stop.set()
        thread.join()
        self.assertGreater(len(beats), 3)

    def test_the_interpreter_may_end_while_texts_are_written(self):
        begin = "import heed, sys, threading, time\ngenerator = heed.Generator(sys.argv[1])\n"
        stream = begin + "stream = generator.stream('the', max_new_tokens=10**9)\nnext(stream)\n"
        call = ("threading.Thread(target=lambda: generator.generate('the', max_new_tokens=10**9, callback={}), "
                "daemon=True).start()\ntime.sleep(0.1)\n")
        for program in (stream, begin + call.format("None"), begin + call.format("lambda *piece: None")):
            result = subprocess.run([sys.executable, "-c", program, self.generator_path], stderr=subprocess.PIPE,
                                    text=True, timeout=60 * PATIENCE, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_an_interrupt_ends_a_call(self):
        program = ("import heed, sys\ngenerator = heed.Generator(sys.argv[1])\nprint('ready', flush=True)\n"
                   "try:\n    generator.generate('the', max_new_tokens=10**9)\nexcept KeyboardInterrupt:\n    print('stopped')\n")
        process = subprocess.Popen([sys.executable, "-c", program, self.generator_path], stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=30 * PATIENCE)[0], "stopped\n")
        self.assertEqual(process.returncode, 0)

    def test_an_interrupt_ends_the_encoding_of_many_texts(self):
        program = ("import heed, sys\ntokenizer = heed.Tokenizer(sys.argv[1])\ntexts = ['ein Hund läuft'] * 10**7\n"
                   "print('ready', flush=True)\ntry:\n    tokenizer.encode(texts)\nexcept KeyboardInterrupt:\n    print('stopped')\n")
        path = next(self.translator_path.glob("source.tokenizer"))
        process = subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(2.0)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=60 * PATIENCE)[0], "stopped\n")
        self.assertLess(time.monotonic() - begin, 10.0 * PATIENCE)


class Package(unittest.TestCase):
    def test_type_hints_name_what_there_is(self):
        hints = ast.parse((SOURCE / "bindings/python/heed/__init__.pyi").read_text())
        classes = {node.name: node for node in hints.body if isinstance(node, ast.ClassDef)}
        functions = {node.name for node in hints.body if isinstance(node, ast.FunctionDef)}
        only_hints = {"Attention", "Labels"}  # what dicts hold: there is no such class
        self.assertEqual(set(heed.__all__) - {"__version__"}, (set(classes) | functions) - only_hints)
        for name in set(classes) - only_hints:
            hinted = {item.name for item in classes[name].body if isinstance(item, ast.FunctionDef)} | \
                {item.target.id for item in classes[name].body if isinstance(item, ast.AnnAssign)}
            there = {member for member in vars(getattr(heed, name)) if not member.startswith("_")}
            self.assertEqual(there, {member for member in hinted if not member.startswith("_")}, name)


if __name__ == "__main__":
    unittest.main()
