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
        cls.server = Server(*[word for name in ("plain", "number", "labels") for word in ("--model", f"{name}={folder / name}")])
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
        self.assertEqual(self.server.post("/predict", {"model": "labels", "inputs": ["wasser", "ein hund"]})[1][1], one)

    def test_errors_have_its_shape(self):
        for path, fields, status in (("/embed", {"inputs": "a"}, 400), ("/embed", {"model": "x", "inputs": "a"}, 404),
                                     ("/embed", {"model": "plain"}, 400), ("/embed", {"model": "plain", "inputs": 3}, 400),
                                     ("/embed", {"model": "plain", "inputs": ["a"] * 1025}, 413),
                                     ("/embed", {"model": "plain", "inputs": "a", "truncate": True}, 400),
                                     ("/embed", {"model": "plain", "inputs": "a " * 5000}, 400),
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
