"""The interface of Text Embeddings Inference."""

import json
import math
import os
import pathlib
import subprocess
import tempfile

from heed_server import Server, ServerTest, unittest


class Embeddings(ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.models = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.models.name)
        make = lambda name, *arguments: subprocess.run(
            [os.environ["HEED_MAKE_MODEL"], folder / name, "architecture=encoder", *arguments], check=True)
        make("plain")
        make("number", "model.head=number")
        make("labels", "model.head=label", 'model.labels=["good", "bad"]')
        short = ("kind=byte", "vocabulary=0", "max_length=40", "scale=2")
        make("bytes", *short)
        make("bytes-number", "model.head=number", *short)
        make("bytes-labels", "model.head=label", 'model.labels=["good", "bad"]', *short)
        cls.server = Server(*[word for name in ("plain", "number", "labels", "bytes", "bytes-number", "bytes-labels") for word in ("--model", f"{name}={folder / name}")])
        cls.alone = Server("--model", f"plain={folder / 'plain'}")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.alone.stop()
        cls.models.cleanup()

    def test_vectors_of_a_text_or_of_several(self):
        status, rows = self.alone.post("/embed", {"inputs": "ein hund", "normalize": True, "truncate": False})
        self.assertEqual((status, len(rows)), (200, 1))
        self.assertAlmostEqual(math.hypot(*rows[0]), 1.0, 5)
        self.assertEqual(self.alone.post("/embed", {"inputs": ["zwei", "ein hund"]})[1][1], rows[0])
        self.assertNotAlmostEqual(math.hypot(*self.alone.post("/embed", {"inputs": "a", "normalize": False})[1][0]), 1.0, 2)

    def test_texts_are_put_in_order(self):
        texts = ["ein hund", "zwei kinder", "wasser"]
        fields = {"model": "number", "query": "wer läuft", "texts": texts}
        status, ranks = self.server.post("/rerank", {**fields, "return_text": True})
        self.assertEqual((status, sorted(rank["index"] for rank in ranks)), (200, [0, 1, 2]))
        self.assertEqual([rank["text"] for rank in ranks], [texts[rank["index"]] for rank in ranks])
        raw = self.server.post("/rerank", {**fields, "raw_scores": True})[1]
        self.assertEqual([rank["score"] for rank in raw], sorted((rank["score"] for rank in raw), reverse=True))
        for rank, of_raw in zip(ranks, raw):
            self.assertAlmostEqual(rank["score"], 1.0 / (1.0 + math.exp(-of_raw["score"])), 6)

    def test_labels(self):
        status, one = self.server.post("/predict", {"model": "labels", "inputs": "ein hund"})
        self.assertEqual((status, {label["label"] for label in one}), (200, {"good", "bad"}))
        self.assertAlmostEqual(sum(label["score"] for label in one), 1.0, 5)
        self.assertGreaterEqual(one[0]["score"], one[1]["score"])
        self.assertEqual(self.server.post("/predict", {"model": "labels", "inputs": ["ein hund"]})[1], one)

    def test_a_list_of_texts_is_one_pair_and_a_batch_is_a_list_of_lists(self):
        ask = lambda inputs, model="labels": self.server.post("/predict", {"model": model, "inputs": inputs})
        one, pair = ask("ein hund")[1], ask(["wasser", "ein hund"])[1]
        self.assertEqual({label["label"] for label in pair}, {"good", "bad"})
        self.assertNotEqual(pair, one)
        self.assertEqual(ask([["ein hund"], ["wasser"]]), (200, [one, ask("wasser")[1]]))
        self.assertEqual(ask([["wasser", "ein hund"], ["ein hund"], ["ein hund", "wasser"]]),
                         (200, [pair, one, ask(["ein hund", "wasser"])[1]]))
        for inputs, field in (([], "inputs"), (["a", "b", "c"], "inputs"), ([[]], r"inputs\[0\]"), ([["a"], "b"], r"inputs\[1\]"),
                              ([["a"], ["b", "c", "d"]], r"inputs\[1\]"), ([["a"], [3]], r"inputs\[1\]"), (3, "inputs"),
                              (["a", 3], "inputs"), (["a", ["b"]], "inputs")):
            status, answer = ask(inputs)
            self.assertEqual(status, 400, inputs)
            self.assertRegex(answer["error"], f"^{field}: ", inputs)
        # What is too long is named by its place in the batch.
        status, answer = ask([["a", "b"], ["a " * 100]], "bytes-labels")
        self.assertEqual(status, 413)
        self.assertRegex(answer["error"], r"^inputs\[1\]")

    def test_texts_that_are_too_long_lose_one_of_their_sides(self):
        text = "".join(chr(97 + i * i % 26) for i in range(100))
        ask = lambda path, fields: self.server.post(path, {"model": "bytes", **fields})
        status, answer = ask("/embed", {"inputs": text})
        self.assertEqual((status, answer["error_type"]), (413, "Validation"))
        self.assertRegex(answer["error"], "^inputs.*102 tokens with special tokens, but the model takes at most 40")
        for direction, kept in ((None, text[:38]), ("Right", text[:38]), ("right", text[:38]), ("Left", text[-38:]),
                                ("left", text[-38:])):
            fields = {"truncate": True, "truncation_direction": direction}
            status, rows = ask("/embed", {"inputs": [text, "a", kept], **fields})
            self.assertEqual((status, rows[0]), (200, rows[2]), direction)
            self.assertEqual(rows[0], ask("/embed", {"inputs": kept})[1][0])
            self.assertEqual(rows[1], ask("/embed", {"inputs": "a"})[1][0])
        self.assertNotEqual(ask("/embed", {"inputs": text[:38]}), ask("/embed", {"inputs": text[:37]}))

    def test_of_two_texts_the_longer_one_is_cut(self):
        text = "".join(chr(97 + i * i % 26) for i in range(100))
        for direction, first, second in (("Right", text[:27], text[:27]), ("Left", text[-27:], text[-27:])):
            fields = {"model": "bytes-number", "truncate": True, "truncation_direction": direction, "raw_scores": True}
            ask = lambda query, one: self.server.post("/rerank", {**fields, "query": query, "texts": [one]})[1][0]["score"]
            self.assertEqual(ask("0123456789", text), ask("0123456789", first))
            self.assertEqual(ask(text, "0123456789"), ask(second, "0123456789"))
        status, _ = self.server.post("/rerank", {"model": "bytes-number", "query": "0123456789", "texts": [text]})
        self.assertEqual(status, 413)

    def test_labels_of_texts_that_are_cut(self):
        text = "".join(chr(97 + i * i % 26) for i in range(100))
        ask = lambda text, **fields: self.server.post("/predict", {"model": "bytes-labels", "inputs": text, **fields})
        self.assertEqual(ask(text)[0], 413)
        self.assertEqual(ask(text, truncate=True), ask(text[:38]))
        self.assertEqual(ask(text, truncate=True, truncation_direction="Left"), ask(text[-38:]))
        self.assertNotEqual(ask(text[:38]), ask(text[-38:]))

    def test_errors_have_its_shape(self):
        for path, fields, status in (("/embed", {"inputs": "a"}, 400), ("/embed", {"model": "x", "inputs": "a"}, 404),
                                     ("/embed", {"model": "plain"}, 400), ("/embed", {"model": "plain", "inputs": 3}, 400),
                                     ("/embed", {"model": "plain", "inputs": ["a"] * 1025}, 413),
                                     ("/embed", {"model": "plain", "inputs": "a", "truncate": 1}, 400),
                                     ("/embed", {"model": "plain", "inputs": "a", "truncation_direction": "up"}, 400),
                                     ("/embed", {"model": "plain", "inputs": "a " * 5000}, 413),
                                     ("/embed", {"model": "plain", "inputs": ["a", "a " * 5000], "truncate": False}, 413),
                                     ("/predict", {"model": "labels", "inputs": "a " * 5000}, 413),
                                     ("/rerank", {"model": "number", "query": "a", "texts": ["a " * 5000]}, 413),
                                     ("/rerank", {"model": "number", "query": "a", "texts": ["a"] * 1025}, 413),
                                     ("/predict", {"model": "labels", "inputs": [["a"]] * 1025}, 413),
                                     ("/rerank", {"model": "labels", "query": "a", "texts": ["b"]}, 400),
                                     ("/rerank", {"model": "plain", "query": "a", "texts": ["b"]}, 400),
                                     ("/predict", {"model": "plain", "inputs": "a"}, 400)):
            found, answer = self.server.post(path, fields)
            self.assertEqual((found, sorted(answer)), (status, ["error", "error_type"]), (path, fields))

    def test_information(self):
        status, text = self.alone.get("/info")
        self.assertEqual((status, json.loads(text)["model_id"]), (200, "plain"))


if __name__ == "__main__":
    unittest.main()
