"""/v1/completions and /v1/models: every field, whole and streamed, and what is refused."""

from openai_api import ANSWER_KEYS, OpenAiTest, json, unittest

PATH = "/v1/completions"


class Completions(OpenAiTest):
    def complete(self, **fields):
        return self.answer(PATH, **{"model": "text", "prompt": "Hello", "temperature": 0, **fields})

    def stream(self, **fields):
        """The chunks, checked as clients read them; the end is taken off."""
        events = self.server.events(PATH, {"model": "text", "prompt": "Hello", "temperature": 0, **fields, "stream": True})
        self.assertEqual(events.pop(), "[DONE]")
        chunks = [json.loads(event) for event in events]
        for chunk in chunks:
            self.check_heading(chunk, "text_completion", "cmpl-", "text")
        self.assertEqual(len({(chunk["id"], chunk["created"]) for chunk in chunks}), 1)
        return chunks

    def texts_of(self, chunks, count):
        texts, reasons = [""] * count, [None] * count
        for chunk in chunks:
            for choice in chunk["choices"]:
                self.assertEqual(set(choice), {"text", "index", "logprobs", "finish_reason"})
                self.assertIsNone(reasons[choice["index"]], "a piece after the end")
                texts[choice["index"]] += choice["text"]
                reasons[choice["index"]] = choice["finish_reason"]
        return texts, reasons

    def test_an_answer_has_its_parts(self):
        answer = self.complete(max_tokens=5)
        self.assertEqual(set(answer), ANSWER_KEYS)
        self.check_heading(answer, "text_completion", "cmpl-", "text")
        self.assertEqual(len(answer["choices"]), 1)
        choice = answer["choices"][0]
        self.assertEqual({**choice, "text": ""}, {"text": "", "index": 0, "logprobs": None, "finish_reason": "length"})
        self.check_usage(answer["usage"], 6, 5)  # five bytes after the mark of a beginning

    def test_answers_are_those_of_the_command(self):
        cases = [({"temperature": 0}, ["--temperature", 0]),
                 ({"temperature": 0.8, "top_p": 0.9, "seed": 7}, ["--temperature", 0.8, "--top-p", 0.9, "--seed", 7]),
                 ({"temperature": 1.5, "top_k": 9, "min_p": 0.01, "repetition_penalty": 1.2, "seed": 1},
                  ["--temperature", 1.5, "--top-k", 9, "--min-p", 0.01, "--repetition-penalty", 1.2, "--seed", 1]),
                 ({"presence_penalty": 1.5, "frequency_penalty": -0.5, "temperature": 1, "seed": 3},
                  ["--presence-penalty", 1.5, "--frequency-penalty", -0.5, "--temperature", 1, "--seed", 3]),
                 ({"seed": 2**62, "temperature": 1, "n": 3}, ["--seed", 2**62, "--temperature", 1, "--n", 3])]
        for fields, options in cases:
            with self.subTest(fields):
                expected = self.offline("Hello", "--max-tokens", 24, *options)
                answer = self.complete(max_tokens=24, **fields)
                self.assertEqual([choice["text"] for choice in answer["choices"]], [one["text"] for one in expected])
                self.assertEqual([choice["index"] for choice in answer["choices"]], list(range(len(expected))))
                self.assertEqual([choice["finish_reason"] for choice in answer["choices"]],
                                 ["length" if one["reason"] == "length" else "stop" for one in expected])
                self.assertEqual(answer["usage"]["completion_tokens"], sum(one["tokens"] for one in expected))
                texts, _ = self.texts_of(self.stream(max_tokens=24, **fields), len(expected))
                self.assertEqual(texts, [one["text"] for one in expected])

    def test_sixteen_tokens_unless_told(self):
        self.assertEqual(self.complete()["usage"]["completion_tokens"], 16)

    def test_null_counts_as_absent(self):
        names = ["max_tokens", "n", "best_of", "stop", "seed", "stream", "stream_options", "suffix", "logit_bias", "echo",
                 "logprobs", "top_p", "user", "presence_penalty", "anything"]
        self.assertEqual(self.complete(**dict.fromkeys(names))["choices"], self.complete()["choices"])

    def test_without_a_seed_texts_differ(self):
        texts = {self.complete(temperature=1)["choices"][0]["text"] for _ in range(4)}
        self.assertGreater(len(texts), 1)
        self.assertEqual(self.complete(temperature=1, seed=-5)["choices"], self.complete(temperature=1, seed=-5)["choices"])

    def test_texts_of_several_prompts_are_numbered_consecutively(self):
        one = [self.complete(prompt=prompt, temperature=1, seed=1, n=2)["choices"] for prompt in ("A", "Bb")]
        together = self.complete(prompt=["A", "Bb"], temperature=1, seed=1, n=2)
        self.assertEqual([choice["text"] for choice in together["choices"]],
                         [choice["text"] for choices in one for choice in choices])
        self.assertEqual([choice["index"] for choice in together["choices"]], [0, 1, 2, 3])
        self.check_usage(together["usage"], 2 + 3, 64)  # a prompt is read once for its texts
        texts, reasons = self.texts_of(self.stream(prompt=["A", "Bb"], temperature=1, seed=1, n=2), 4)
        self.assertEqual(texts, [choice["text"] for choice in together["choices"]])
        self.assertEqual(reasons, ["length"] * 4)

    def test_a_text_ends_before_a_stop_text(self):
        whole = self.complete(max_tokens=30)["choices"][0]["text"]
        stop = whole[9:12]
        at = whole.find(stop)
        for given in (stop, ["never\n", stop], [stop, "x", "y", "z"]):
            answer = self.complete(max_tokens=30, stop=given)
            if given != [stop, "x", "y", "z"]:
                self.assertEqual(answer["choices"][0]["text"], whole[:at])
            self.assertEqual(answer["choices"][0]["finish_reason"], "stop")
        self.assertEqual(self.complete(max_tokens=30, stop=[])["choices"][0]["text"], whole)
        texts, reasons = self.texts_of(self.stream(max_tokens=30, stop=stop), 1)
        self.assertEqual((texts, reasons), ([whole[:at]], ["stop"]))

    def test_a_text_that_the_model_ends_stops(self):
        form = {"type": "regex", "regex": "yes|no"}
        answer = self.complete(response_format=form, max_tokens=30)
        self.assertIn(answer["choices"][0]["text"], ("yes", "no"))
        self.assertEqual(answer["choices"][0]["finish_reason"], "stop")
        # The end is a token: with room for the letters alone the text is cut where it is whole.
        letters = len(answer["choices"][0]["text"])
        self.assertEqual(answer["usage"]["completion_tokens"], letters + 1)

    def test_echo_puts_the_prompt_before_each_text(self):
        plain = self.complete(prompt=["Über", "Hm"], n=2, temperature=1, seed=1)["choices"]
        prompts = ["Über", "Über", "Hm", "Hm"]
        expected = [prompt + choice["text"] for prompt, choice in zip(prompts, plain)]
        fields = {"prompt": ["Über", "Hm"], "n": 2, "temperature": 1, "seed": 1, "echo": True}
        self.assertEqual([choice["text"] for choice in self.complete(**fields)["choices"]], expected)
        self.assertEqual(self.texts_of(self.stream(**fields), 4)[0], expected)

    def test_best_of_gives_the_likeliest(self):
        expected = self.offline("Hello", "--max-tokens", 12, "--temperature", 1, "--seed", 4, "--n", 8)
        expected.sort(key=lambda one: -one["log_probability"] / one["tokens"])
        answer = self.complete(max_tokens=12, temperature=1, seed=4, n=2, best_of=8)
        self.assertEqual([choice["text"] for choice in answer["choices"]], [one["text"] for one in expected[:2]])
        self.assertEqual([choice["index"] for choice in answer["choices"]], [0, 1])
        self.assertEqual(answer["usage"]["completion_tokens"], sum(one["tokens"] for one in expected))
        self.assertEqual(self.complete(best_of=1)["choices"], self.complete()["choices"])
        self.assertEqual(self.texts_of(self.stream(n=2, best_of=2), 2)[1], ["length", "length"])

    def test_usage_comes_in_a_last_chunk_where_it_is_asked_for(self):
        chunks = self.stream(stream_options={"include_usage": True, "include_obfuscation": False}, max_tokens=7)
        last = chunks.pop()
        self.assertEqual(last["choices"], [])
        self.check_usage(last["usage"], 6, 7)
        self.assertTrue(all("usage" in chunk and chunk["usage"] is None for chunk in chunks))
        for options in ({}, {"include_usage": False}, None):
            chunks = self.stream(stream_options=options)
            self.assertTrue(all(len(chunk["choices"]) == 1 and "usage" not in chunk for chunk in chunks))

    def test_harmless_fields_change_nothing(self):
        self.assertEqual(self.complete(user="u", safety_identifier="s", prompt_cache_key="k", logit_bias={}, suffix="",
                                       response_format={"type": "text"})["choices"], self.complete()["choices"])

    def test_fields_are_refused_by_name(self):
        cases = {
            "prompt": [None, 5, [], [1, 2, 3], [[1, 2]], ["a", 5], {"a": 1}, ["a"] * 41],
            "max_tokens": [0, -1, 301, 1.5, "5", True, 10**30],
            "n": [0, 129, "1", 41], "best_of": [0, 21, 1.5], "temperature": [-0.1, 2.1, "hot", True, [1]],
            "top_p": [-1, 1.01, "x"], "presence_penalty": [-2.5, 3, "x"], "frequency_penalty": [-2.5, 3, {}],
            "top_k": [-1, 0.5, "x"], "min_p": [-1, 2], "repetition_penalty": [0, -1, "x"],
            "seed": ["x", 1.5, 2**63], "stop": [5, "", ["a", ""], ["a"] * 5, [5], {}], "stream": [1, "true"],
            "echo": ["yes"], "suffix": ["end"], "logit_bias": [{"a": 1}], "user": [5], "logprobs": [-1, 6, True, "x"],
            "response_format": [5], "stream_options": [{"include_usage": True}, 5], "anything": [1, "x", False]}
        for name, values in cases.items():
            for value in values:
                with self.subTest(name, value=value):
                    fields = {"model": "text", "prompt": "a", name: value}
                    if name == "stop" and isinstance(value, list) and value == [5]:
                        self.refused(PATH, "stop[0]", **fields)
                    elif name == "prompt" and value == ["a", 5]:
                        self.refused(PATH, "prompt[1]", **fields)
                    else:
                        self.refused(PATH, name, **fields)
        self.assertEqual(self.complete()["usage"]["completion_tokens"], 16)

    def test_parts_of_fields_are_refused_by_name(self):
        cases = [("stream_options.include_usage", {"stream": True, "stream_options": {"include_usage": 1}}),
                 ("stream_options.include_obfuscation", {"stream": True, "stream_options": {"include_obfuscation": True}}),
                 ("stream_options.other", {"stream": True, "stream_options": {"other": 1}}),
                 ("response_format.type", {"response_format": {}}),
                 ("response_format.type", {"response_format": {"type": "xml"}}),
                 ("response_format.regex", {"response_format": {"type": "regex"}}),
                 ("response_format.regex", {"response_format": {"type": "regex", "regex": ""}}),
                 ("response_format.regex", {"response_format": {"type": "text", "regex": "a"}}),
                 ("response_format", {"response_format": {"type": "regex", "regex": "("}}),
                 ("best_of", {"n": 3, "best_of": 2}), ("best_of", {"stream": True, "best_of": 2}),
                 ("n", {"prompt": ["a"] * 9, "n": 5}), ("best_of", {"prompt": ["a"] * 9, "best_of": 5})]
        for param, fields in cases:
            with self.subTest(param, fields=fields):
                error = self.refused(PATH, param, **{"model": "text", "prompt": "a", **fields})
                self.assertEqual((error["type"], error["code"]), ("invalid_request_error", None))

    def test_prompts_that_the_model_can_t_read_are_refused_by_number(self):
        self.refused(PATH, "prompt", "takes at most 511", model="text", prompt="a" * 600)
        self.refused(PATH, "prompt[1]", "takes at most 511", model="text", prompt=["a", "a" * 600])
        self.refused(PATH, "prompt", "takes at most 511", model="text", prompt="a" * 600, stream=True)

    def test_bodies_that_are_no_request_are_refused(self):
        for body in ("", "{", "[]", "5", b'{"prompt": "\xff"}', '{"prompt": "a"} x', '{"prompt": "\\ud800"}', "[" * 5000):
            with self.subTest(body):
                status, answer = self.server.post(PATH, body)
                self.assertEqual(status, 400)
                self.assertEqual(set(answer["error"]), {"message", "type", "param", "code"})

    def test_models_are_named(self):
        error = self.refused(PATH, "model", "nobody", model="nobody", prompt="a", status=404)
        self.assertEqual(error["code"], "not_found")
        self.refused(PATH, "model", "translator", model="translates", prompt="a")
        self.refused(PATH, "model", "encoder", model="reads", prompt="a")
        self.refused(PATH, "model", model=5, prompt="a")

    def test_models_are_listed_and_described(self):
        status, text = self.server.get("/v1/models")
        listed = json.loads(text)
        self.assertEqual((status, listed["object"]), (200, "list"))
        self.assertEqual([model["id"] for model in listed["data"]], ["chat", "endless", "reads", "text", "translates"])
        for model in listed["data"]:
            self.assertEqual(set(model), {"id", "object", "created", "owned_by"})
            self.assertEqual((model["object"], model["owned_by"]), ("model", "heed"))
            self.assertIs(type(model["created"]), int)
            self.assertEqual(json.loads(self.server.get(f"/v1/models/{model['id']}")[1]), model)
        self.assertEqual(json.loads(self.server.get("/v1/models/%74ext")[1])["id"], "text")
        for name in ("nobody", "", "text/more", "%00"):
            status, text = self.server.get(f"/v1/models/{name}")
            self.assertEqual(status, 404)
            self.assertEqual(set(json.loads(text)["error"]), {"message", "type", "param", "code"})
        self.assertEqual(self.server.request("GET", PATH)[0], 405)
        self.assertEqual(self.server.request("DELETE", "/v1/models/text")[0], 405)


if __name__ == "__main__":
    unittest.main()
