"""What models compute on their way: the numbers of score(), perplexity() and attention(), and gradients of the loss."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

import numpy

import heed


def make_model(path, *options):
    subprocess.run([os.environ["HEED_MAKE_MODEL"], path, *options], check=True)
    return path


def nudge(model, name, index, by):
    """Adds to one number of a model's file: eight bytes of the header's size, the header, the numbers. The file then
    no longer says that heed wrote it, with a checksum."""
    file = model / "model.safetensors"
    content = bytearray(file.read_bytes())
    size, = struct.unpack_from("<Q", content)
    header = json.loads(content[8:8 + size])
    header.pop("__metadata__", None)
    content[8:8 + size] = json.dumps(header, separators=(",", ":")).encode().ljust(size)
    at = 8 + size + header[name]["data_offsets"][0] + 4 * int(numpy.ravel_multi_index(index, header[name]["shape"]))
    struct.pack_into("<f", content, at, struct.unpack_from("<f", content, at)[0] + by)
    file.write_bytes(content)


def log_softmax(rows):
    rows = rows.astype(numpy.float64)
    rows = rows - rows.max(axis=-1, keepdims=True)
    return rows - numpy.log(numpy.exp(rows).sum(axis=-1, keepdims=True))


class Inside(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        cls.translator_path = make_model(path / "translator")
        cls.generator_path = make_model(path / "generator", "architecture=causal-lm")
        cls.encoder_path = make_model(path / "encoder", "architecture=encoder")
        cls.translator = heed.Translator(cls.translator_path, compute_type="f32")
        cls.generator = heed.Generator(cls.generator_path, compute_type="f32")
        cls.encoder = heed.Encoder(cls.encoder_path, compute_type="f32")

    def expect_gradients(self, path, open_model, batch):
        path = pathlib.Path(shutil.copytree(path, f"{path}.nudged"))
        found = open_model(path).gradients(batch)
        weights = heed.weights(path)
        self.assertEqual(list(found.gradients), list(heed.inspect(path)["parameters"]))
        step = 1 / 2048
        for name in list(weights)[::5]:
            gradient = found.gradients[name]
            self.assertEqual(gradient.shape, weights[name].shape)
            index = numpy.unravel_index(abs(gradient).argmax(), gradient.shape)
            losses = []
            for by in (step, -2 * step, step):
                nudge(path, name, index, by)
                losses.append(open_model(path).gradients(batch).loss)
            self.assertAlmostEqual((losses[0] - losses[1]) / (2 * step), gradient[index],
                                   delta=2e-3 + 0.02 * abs(gradient[index]), msg=name)
        self.assertAlmostEqual(losses[2], found.loss, places=5)

    def test_logits_of_a_pair_give_its_score(self):
        source, target = "ein Hund läuft", "a dog runs"
        found = self.translator.forward(source, target, output_attentions=True, output_hidden_states=True)
        probabilities = log_softmax(found.logits)
        expected = [*found.target_ids[1:], 3]
        self.assertAlmostEqual(sum(row[token] for row, token in zip(probabilities, expected)),
                               self.translator.score(source, target), places=3)
        for kind, maps in (("encoder", found.encoder_attentions), ("decoder", found.decoder_attentions),
                           ("cross", found.cross_attentions)):
            weights = self.translator.attention(source, target, kind=kind)["weights"]
            self.assertTrue((numpy.stack(maps) == weights).all())
            self.assertTrue((abs(weights.sum(axis=-1) - 1) < 1e-5).all())
        self.assertEqual([one.shape for one in found.encoder_hidden_states], [(len(found.source_ids), 32)] * 3)
        again = self.translator.forward(found.source_ids, numpy.array(found.target_ids))
        self.assertTrue((again.logits == found.logits).all())
        self.assertEqual((again.cross_attentions, again.decoder_hidden_states), ([], []))

    def test_the_last_hidden_state_gives_the_logits(self):
        weights = heed.weights(self.generator_path)
        found = self.generator.forward("the dog", output_hidden_states=True)
        logits = found.hidden_states[-1] @ weights["output.weight"].T + weights["output.bias"]
        self.assertTrue(numpy.allclose(logits, found.logits, atol=1e-3))
        self.assertAlmostEqual(self.generator.gradients(["the dog"]).loss,
                               numpy.log(self.generator.perplexity("the dog")), places=4)
        weights = heed.weights(self.translator_path)
        found = self.translator.forward("ein Hund", "a dog", output_hidden_states=True)
        logits = found.decoder_hidden_states[-1] @ weights["output.weight"].T + weights["output.bias"]
        self.assertTrue(numpy.allclose(logits, found.logits, atol=1e-3))
        self.assertTrue(numpy.allclose(self.encoder.forward("a dog").embedding, self.encoder.encode("a dog"), atol=1e-5))

    def test_gradients_are_difference_quotients_of_the_loss(self):
        def f32(kind):
            return lambda path: kind(path, threads=1)
        self.expect_gradients(self.translator_path, f32(heed.Translator), [("ein Hund", "a dog"), ("zwei", [2, 9])])
        self.expect_gradients(self.generator_path, f32(heed.Generator), ["the dog", [5, 6, 7]])
        ids = self.encoder.forward("the dog").ids
        self.expect_gradients(self.encoder_path, f32(heed.Encoder), [(ids, [-100, *ids[1:-1], -100])])

    def test_wrong_arguments_are_named(self):
        vocabulary = heed.Tokenizer(self.generator_path / "text.tokenizer").vocabulary_size
        for call, error, mention in [
                (lambda: self.generator.forward(3), TypeError, "'ids' must be"),
                (lambda: self.generator.forward([1.5]), TypeError, "'ids[0]' must be"),
                (lambda: self.generator.forward(numpy.float32([1.5])), TypeError, "'ids[0]' must be"),
                (lambda: self.generator.forward(numpy.array(5)), TypeError, "'ids' must be"),
                (lambda: self.generator.forward(b"ab"), TypeError, "'ids' must be"),
                (lambda: self.generator.forward([]), ValueError, "ids: 0 tokens"),
                (lambda: self.generator.forward([vocabulary]), ValueError, f"ids: token {vocabulary}"),
                (lambda: self.generator.forward([5] * 65), ValueError, "ids: 65 tokens"),
                (lambda: self.generator.forward("a", output_attentions=1), TypeError, "'output_attentions' must be"),
                (lambda: self.translator.forward("a", 3), TypeError, "'target' must be"),
                (lambda: self.translator.forward([-1], "a"), ValueError, "source: token -1"),
                (lambda: self.generator.gradients("a"), TypeError, "'batch' must be"),
                (lambda: self.generator.gradients([]), ValueError, "batch"),
                (lambda: self.generator.gradients([3]), TypeError, "'batch[0]' must be"),
                (lambda: self.generator.gradients([[5]]), ValueError, "nothing is predicted"),
                (lambda: self.translator.gradients(["ab"]), TypeError, "'batch[0]' must be a pair"),
                (lambda: self.translator.gradients([("a", 1)]), TypeError, "'batch[0], target' must be"),
                (lambda: self.translator.gradients([("a", "b"), ("a" * 99, "b")]), ValueError, "batch[1], source: 1"),
                (lambda: self.encoder.gradients([("a", 1)]), ValueError, "batch[0]"),
                (lambda: self.encoder.gradients([("a", None)]), TypeError, "'batch[0], expected' must be"),
                (lambda: self.encoder.gradients([("a", "b")]), ValueError, "batch[0], expected"),
                (lambda: heed.weights(3), TypeError, "'model' must be")]:
            with self.assertRaises(error) as raised:
                call()
            self.assertIn(mention, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
