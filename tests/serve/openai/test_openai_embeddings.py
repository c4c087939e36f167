"""/v1/embeddings: every field, and what is refused."""

import base64
import math
import struct

from heed_cli import run
from openai_api import OpenAiTest, json, unittest

PATH = "/v1/embeddings"
TEXTS = ["a man rides a bicycle", "two children play", "Ünïcode ✓"]


class Embeddings(OpenAiTest):
    def rows(self, **fields):
        answer = self.answer(PATH, **{"model": "reads", "input": TEXTS, **fields})
        self.assertEqual(set(answer), {"object", "data", "model", "usage"})
        self.assertEqual(answer["object"], "list")
        for i, one in enumerate(answer["data"]):
            self.assertEqual((set(one), one["object"], one["index"]), ({"object", "index", "embedding"}, "embedding", i))
        return [one["embedding"] for one in answer["data"]]

    def test_embeddings_are_those_of_the_command(self):
        for model, path in (("reads", self.reads), ("text", self.text), ("translates", self.translates)):
            out = self.path / f"{model}.npy"
            result = run("embed", "--model", path, "--input", self.file("texts", "\n".join(TEXTS) + "\n"), "--npy", out)
            self.assertEqual(result.returncode, 0, result.stderr)
            data = out.read_bytes()
            rows = self.rows(model=model)
            values = [value for row in rows for value in row]
            self.assertEqual(struct.pack(f"<{len(values)}f", *values), data[-4 * len(values):])

    def test_one_text_is_a_list_of_one(self):
        self.assertEqual(self.rows(input=TEXTS[0]), self.rows()[:1])
        self.assertEqual(self.rows(input=TEXTS[:1]), self.rows()[:1])

    def test_numbers_may_come_as_base64(self):
        for dimensions in (1, 2, 3, 32):
            rows = self.rows(dimensions=dimensions)
            for row, text in zip(rows, self.rows(encoding_format="base64", dimensions=dimensions)):
                data = base64.b64decode(text, validate=True)
                self.assertEqual(list(struct.unpack(f"<{dimensions}f", data)), row)
        self.assertEqual(self.rows(encoding_format="float"), self.rows())

    def test_fewer_dimensions_are_the_first_ones_scaled_to_the_length_of_all(self):
        for whole, row in zip(self.rows(), self.rows(dimensions=8)):
            self.assertEqual(len(row), 8)
            self.assertAlmostEqual(math.hypot(*row), math.hypot(*whole), places=5)
            factor = math.hypot(*whole) / math.hypot(*whole[:8])
            for a, b in zip(whole, row):
                self.assertAlmostEqual(a * factor, b, places=5)
        self.assertEqual(self.rows(dimensions=32), self.rows())

    def test_usage_counts_what_is_read(self):
        count = {}
        for text in TEXTS:
            count[text] = self.answer(PATH, model="reads", input=text)["usage"]["prompt_tokens"]
        usage = self.answer(PATH, model="reads", input=TEXTS)["usage"]
        self.assertEqual(usage, {"prompt_tokens": sum(count.values()), "total_tokens": sum(count.values())})
        # Bytes, and the mark of a beginning.
        usage = self.answer(PATH, model="text", input="Über")["usage"]
        self.assertEqual(usage["prompt_tokens"], 6)

    def test_fields_are_refused_by_name(self):
        cases = {"input": [None, 5, [], ["a"] * 41, {}, ["a" * 3000]], "encoding_format": ["hex", 5],
                 "dimensions": [0, 33, 1.5, "8"], "user": [5], "model": [5], "anything": [1, False], "prompt": ["a"]}
        for name, values in cases.items():
            for value in values:
                with self.subTest(name, value=value):
                    self.refused(PATH, name, **{"model": "reads", "input": "a", name: value})
        self.refused(PATH, "input[1]", model="reads", input=["a", 5])
        self.refused(PATH, "input[1]", model="reads", input=["a", "a" * 3000])
        self.refused(PATH, "model", model="nobody", input="a", status=404)

    def test_another_tokenizer_s_tokens_are_refused_with_what_to_set(self):
        for value in ([1, 2], [[1, 2], [3]]):
            self.refused(PATH, "input", "check_embedding_ctx_length=False", model="reads", input=value)


if __name__ == "__main__":
    unittest.main()
