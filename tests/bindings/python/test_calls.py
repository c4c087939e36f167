"""Calls and the interpreter: callbacks that raise, Ctrl-C, what tools write, whose memory results have, imports."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy

import heed
from heed_cli import SOURCE

LLAMA = SOURCE / "tests/interchange/golden/decoders/llama"


def make_model(path, *options):
    subprocess.run([os.environ["HEED_MAKE_MODEL"], path, *options], check=True)
    return path


def recipe_of(text):
    return {"model": {"architecture": "causal-lm", "model": 32, "inner": 64, "heads": 2, "decoder_layers": 1,
                      "max_length": 32},
            "data": {"train": [str(text)], "validation_share": 0.1, "context": 32, "batch_sequences": 4},
            "tokenizer": {"kind": "char", "vocabulary": 0},
            "schedule": {"peak": 0.005, "warmup": 5},
            "training": {"updates": 10, "log_every": 2}}


class CallsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        cls.translator_path = make_model(cls.path / "translator", "scale=3")
        cls.generator_path = make_model(cls.path / "generator", "architecture=causal-lm", "scale=3")
        (cls.generator_path / "chat_template.jinja").write_text("{{ messages[0].content }}")


class Callbacks(CallsTest):
    def raised_again(self, call, error, at):
        """`call` is given a callback that raises the error when it is called for the `at`-th time."""
        heard = []

        def fail(*event):
            heard.append(event)
            if len(heard) == at:
                raise error
        with self.assertRaises(type(error)) as raised:
            call(fail)
        self.assertIs(raised.exception, error)
        self.assertEqual(len(heard), at)  # and it is called no more

    def test_what_they_raise_is_raised_again_and_models_stay_usable(self):
        translator, generator = heed.Translator(self.translator_path), heed.Generator(self.generator_path)
        lines, greedy = ["ein Hund läuft", "zwei Kinder"], {"temperature": 0.0, "max_new_tokens": 20}
        messages = [{"role": "user", "content": "the"}]
        for call in (lambda **given: [one.text for one in translator.translate(lines, **given)],
                     lambda **given: [one.text for one in generator.generate(["the", "a"], **greedy, **given)],
                     lambda **given: generator.chat(messages, **greedy, **given).text):
            before = call()
            for error in (KeyError("mine"), KeyboardInterrupt(), SystemExit(3)):
                for at in (1, 3):
                    self.raised_again(lambda fail, call=call: call(callback=fail), error, at)
            self.assertEqual(call(), before)

    def test_what_a_training_hears_may_raise(self):
        text = self.path / "text"
        text.write_text("the dog sees the cat\n" * 200)
        for at in (1, 3):
            output, recipe = self.path / f"run{at}", recipe_of(text)
            self.raised_again(lambda fail: heed.train(recipe, output, callbacks=fail, threads=1),
                              ZeroDivisionError("mine"), at)
            self.assertEqual(heed.train(recipe, output, resume=True, threads=1)["reason"], "updates")
            self.assertTrue(heed.Generator(output).generate("the", temperature=0.0).text)


class Interrupts(CallsTest):
    def test_scoring_translations_ends(self):
        # A minute of work. The interrupt comes when the call has the thread that it computes on.
        program = ("import heed\nline = 'a dog runs in the park and sees a cat. ' * 500\nlines = [line] * 5000\n"
                   "try:\n    print('ready', flush=True)\n    heed.bleu(lines, lines)\n"
                   "except KeyboardInterrupt:\n    print('stopped')\n")
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        while len(os.listdir(f"/proc/{process.pid}/task")) == 1:
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=30)[0], "stopped\n")


class Tools(CallsTest):
    def test_a_model_that_is_imported_and_exported_writes_the_same(self):
        def text_of(path):
            return heed.Generator(path, compute_type="f32").generate("the dog", temperature=0.0, max_new_tokens=8).text
        found = heed.import_model(LLAMA, self.path / "imported")
        parameters = heed.inspect(self.path / "imported")["parameters"].values()
        self.assertEqual((found["family"], found["tensors"], found["bytes"]),
                         ("Llama", len(parameters), sum(one["bytes"] for one in parameters)))
        self.assertEqual(text_of(self.path / "imported"), text_of(LLAMA))
        for format_, name in (("huggingface", "exported"), ("gguf", "exported.gguf"), (None, "by-name.gguf")):
            found = heed.export(self.path / "imported", self.path / name, format=format_, type="f32")
            weights = self.path / name if name.endswith(".gguf") else self.path / name / "model.safetensors"
            self.assertEqual((found["form"], found["bytes"]), ("llama", weights.stat().st_size))
            self.assertEqual(text_of(self.path / name), text_of(LLAMA), name)
        heed.export_model(self.translator_path, self.path / "ctranslate2", format="ctranslate2")
        self.assertTrue((self.path / "ctranslate2" / "model.bin").is_file())

    def test_a_report_is_a_page_beside_the_model_or_where_it_is_asked_for(self):
        text = self.path / "lines"
        text.write_text("the dog sees the cat\n" * 200)
        heed.train(recipe_of(text), self.path / "reported", threads=1)
        for page, given in ((self.path / "reported" / "report.html", {}),
                            (self.path / "page.html", {"output": self.path / "page.html"})):
            self.assertEqual(heed.report(self.path / "reported", **given), str(page))
            self.assertIn("</html>", page.read_text())


class Names(CallsTest):
    def test_names_of_other_libraries_do_the_same(self):
        tokenizer = heed.Tokenizer(self.translator_path / "source.tokenizer")
        texts = ["ein Hund läuft", "", "zwei"]
        batch = tokenizer.encode_batch(texts)
        self.assertEqual([one.ids for one in batch], [one.ids for one in tokenizer.encode(texts)])
        ids = [batch[0].ids, [], numpy.array(batch[2].ids)]
        self.assertEqual(tokenizer.decode_batch(ids), [tokenizer.decode(one) for one in ids])
        self.assertEqual(tokenizer.decode_batch(ids), texts)
        encoder = heed.Encoder(make_model(self.path / "encoder", "architecture=encoder", "width=48"))
        self.assertEqual(encoder.get_sentence_embedding_dimension(), 48)
        for call, error, mention in [
                (lambda: tokenizer.encode_batch("ein"), TypeError, "'texts' must be a list of str, not str"),
                (lambda: tokenizer.decode_batch([1]), TypeError, "'sequences[0]' must be a list of ints, not int"),
                (lambda: tokenizer.decode_batch([[1], [2**30]]), heed.FormatError, "sequences[1]")]:
            with self.assertRaises(error) as raised:
                call()
            self.assertIn(mention, str(raised.exception))


class Memory(CallsTest):
    def test_results_are_not_copied(self):
        encoder = heed.Encoder(make_model(self.path / "encoder", "architecture=encoder"))
        rows = encoder.encode(["a dog", "a man"])
        self.assertIsNone(rows.base)  # the model wrote into numpy's own memory
        self.assertTrue(encoder.encode("a dog").base.flags.owndata)
        found = heed.Generator(self.generator_path).forward("the dog", output_hidden_states=True)
        for array in (found.logits, found.hidden_states[0]):
            self.assertFalse(array.flags.owndata)  # the model's memory, which lives as long as the array
            self.assertEqual(type(array.base).__name__, "PyCapsule")
        self.assertTrue(numpy.shares_memory(found.logits, found.logits[:1]))
        self.assertIs(found.logits, found.logits)

    def test_an_import_loads_little(self):
        program = "import sys\nbefore = set(sys.modules)\nimport heed\nprint(*sorted(set(sys.modules) - before))\n"
        shown = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True).stdout
        loaded = shown.split()
        self.assertIn("heed._heed", loaded)
        self.assertEqual({"numpy", "inspect", "typing", "tempfile"} & {name.split(".")[0] for name in loaded}, set())
        self.assertLess(len(loaded), 40)


if __name__ == "__main__":
    unittest.main()
