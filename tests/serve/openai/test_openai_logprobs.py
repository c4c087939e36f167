"""Probabilities of tokens in OpenAI's interface: the offline command's, in three shapes, whole and streamed."""

from openai_api import OpenAiTest, json, make, unittest

CHAT, COMPLETIONS, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
HELLO = [{"role": "user", "content": "Hello"}]
LETTERS = {"type": "regex", "regex": "[a-z ]{12}"}
INCLUDE = ["message.output_text.logprobs"]


class Logprobs(OpenAiTest):
    def chat_choice(self, **fields):
        return self.answer(CHAT, **{"model": "chat", "messages": HELLO, "temperature": 0, "max_tokens": 20, "logprobs": True,
                                    **fields})["choices"][0]

    def completion_choice(self, **fields):
        return self.answer(COMPLETIONS, **{"model": "text", "prompt": "Hello", "temperature": 0, "max_tokens": 20,
                                           "logprobs": 2, **fields})["choices"][0]

    def check_token(self, token, likeliest):
        self.assertEqual(set(token), {"token", "logprob", "bytes", "top_logprobs"})
        self.assertLess(token["logprob"], 0)
        self.assertEqual(len(token["top_logprobs"]), likeliest)
        probabilities = [one["logprob"] for one in token["top_logprobs"]]
        self.assertEqual(probabilities, sorted(probabilities, reverse=True))
        for one in token["top_logprobs"]:
            self.assertEqual(set(one), {"token", "logprob", "bytes"})
            if one["token"] == token["token"]:
                self.assertEqual((one["logprob"], one["bytes"]), (token["logprob"], token["bytes"]))

    def test_probabilities_are_those_of_the_command(self):
        options = ("--max-tokens", 20, "--temperature", 0.9, "--seed", 4, "--token-scores")
        each = self.offline(HELLO, *options, model=self.chat)[0]["each"]
        choice = self.chat_choice(temperature=0.9, seed=4)
        found = [token["logprob"] for token in choice["logprobs"]["content"]]
        for a, b in zip(found, each):
            self.assertAlmostEqual(a, b["log_probability"], places=5)
        self.assertEqual(len(found), len(each) - (each[-1]["token"] == "</s>"))
        self.assertIsNone(choice["logprobs"]["refusal"])
        # To list them changes no text.
        plain = self.chat_choice(temperature=0.9, seed=4, logprobs=False)
        self.assertEqual((plain["message"], plain["logprobs"]), (choice["message"], None))
        each = self.offline("Hello", *options)[0]["each"]
        found = self.completion_choice(temperature=0.9, seed=4)["logprobs"]["token_logprobs"]
        for a, b in zip(found, each):
            self.assertAlmostEqual(a, b["log_probability"], places=5)

    def test_a_chat_s_tokens_are_its_text(self):
        for likeliest in (0, 1, 20):
            choice = self.chat_choice(top_logprobs=likeliest, response_format=LETTERS)
            content = choice["logprobs"]["content"]
            for token in content:
                self.check_token(token, likeliest)
                self.assertEqual(bytes(token["bytes"]).decode(), token["token"])
            self.assertEqual("".join(token["token"] for token in content), choice["message"]["content"])

    def test_parts_of_characters_are_shown_by_their_bytes(self):
        choice = self.chat_choice(top_logprobs=3, response_format={"type": "regex", "regex": "[äöü]{4}"})
        content = choice["logprobs"]["content"]
        self.assertEqual(bytes(byte for token in content for byte in token["bytes"]).decode(), choice["message"]["content"])
        for token in content:
            self.assertEqual(token["token"], f"\\x{token['bytes'][0]:02x}")
        logprobs = self.completion_choice(response_format={"type": "regex", "regex": "[äöü]{4}"})["logprobs"]
        self.assertEqual(logprobs["tokens"][0], "\\xc3")
        self.assertEqual(logprobs["text_offset"], [0, 0, 1, 1, 2, 2, 3, 3])

    def test_completions_have_their_own_shape(self):
        for likeliest in (0, 1, 5):
            choice = self.completion_choice(logprobs=likeliest, response_format=LETTERS)
            logprobs = choice["logprobs"]
            self.assertEqual(set(logprobs), {"tokens", "token_logprobs", "top_logprobs", "text_offset"})
            self.assertEqual({len(values) for values in logprobs.values()}, {12})
            self.assertEqual("".join(logprobs["tokens"]), choice["text"])
            self.assertEqual(logprobs["text_offset"], list(range(12)))
            for token, probability, top in zip(*(logprobs[name] for name in ("tokens", "token_logprobs", "top_logprobs"))):
                self.assertEqual(top[token], probability)
                self.assertIn(len(top), (likeliest, likeliest + 1))

    def test_tokens_of_a_stop_text_and_ends_are_left_out(self):
        choice = self.chat_choice(response_format=LETTERS)
        whole = choice["message"]["content"]
        self.assertEqual(choice["finish_reason"], "stop")
        self.assertEqual(len(choice["logprobs"]["content"]), 12)
        stop = whole[7:9]
        at = whole.find(stop)
        stopped = self.chat_choice(response_format=LETTERS, stop=stop)
        self.assertEqual(stopped["message"]["content"], whole[:at])
        self.assertEqual(stopped["logprobs"]["content"], choice["logprobs"]["content"][:at])
        events = self.server.events(CHAT, {"model": "chat", "messages": HELLO, "temperature": 0, "max_tokens": 20, "stop": stop,
                                           "logprobs": True, "response_format": LETTERS, "stream": True})
        self.assertEqual(self.streamed_content(events), choice["logprobs"]["content"][:at])

    def streamed_content(self, events):
        content = []
        for event in events[:-1]:
            choice = json.loads(event)["choices"][0]
            if choice["logprobs"] is not None:
                # A chunk has the tokens that begin in its text.
                content += choice["logprobs"]["content"]
            else:
                self.assertFalse(choice["delta"].get("content"))
        return content

    def test_a_stream_has_the_same(self):
        for fields in ({"temperature": 0}, {"temperature": 1.2, "seed": 3}, {"temperature": 0, "response_format": LETTERS}):
            whole = self.chat_choice(top_logprobs=2, **fields)
            events = self.server.events(CHAT, {"model": "chat", "messages": HELLO, "max_tokens": 20, "logprobs": True,
                                               "top_logprobs": 2, "stream": True, **fields})
            self.assertEqual(self.streamed_content(events), whole["logprobs"]["content"])
            whole = self.completion_choice(**fields)["logprobs"]
            found = {name: [] for name in whole}
            for event in self.server.events(COMPLETIONS, {"model": "text", "prompt": "Hello", "max_tokens": 20, "logprobs": 2,
                                                          "stream": True, **fields})[:-1]:
                for name, values in (json.loads(event)["choices"][0]["logprobs"] or {}).items():
                    found[name] += values
            self.assertEqual(found, whole)

    def test_responses_include_them_where_asked(self):
        expected = self.chat_choice(top_logprobs=2, response_format=LETTERS)["logprobs"]["content"]
        fields = {"model": "chat", "input": "Hello", "temperature": 0, "max_output_tokens": 20, "include": INCLUDE,
                  "top_logprobs": 2, "text": {"format": LETTERS}}
        part = self.answer(RESPONSES, **fields)["output"][0]["content"][0]
        self.assertEqual(part["logprobs"], expected)
        _, _, body = self.server.request("POST", RESPONSES, json.dumps({**fields, "stream": True}))
        events = [json.loads(block.split("\ndata: ")[1]) for block in body.decode().split("\n\n")[:-1]]
        deltas = [token for event in events if event["type"] == "response.output_text.delta" for token in event["logprobs"]]
        self.assertEqual(deltas, expected)
        self.assertEqual(events[-4]["logprobs"], expected)
        self.assertEqual(events[-1]["response"]["output"][0]["content"][0], part)

    def test_tokens_of_other_tokenizers_spell_the_text(self):
        model = make(self.path / "pieces", "architecture=causal-lm", "kind=bpe", "positions=rotary", "documents=line", "scale=3")
        server = self.serve("--model", f"pieces={model}")
        status, answer = server.post(COMPLETIONS, {"prompt": "A man", "temperature": 0, "max_tokens": 40, "logprobs": 5,
                                                    "response_format": {"type": "regex", "regex": "[a-z ]{30}"}})
        self.assertEqual(status, 200, answer)
        choice = answer["choices"][0]
        self.assertEqual("".join(choice["logprobs"]["tokens"]).strip(), choice["text"].strip())
        for at, token in zip(choice["logprobs"]["text_offset"], choice["logprobs"]["tokens"]):
            self.assertTrue(choice["text"][at:].lstrip().startswith(token.lstrip()), (at, token))

    def test_fields_are_refused_by_name(self):
        chat = {"model": "chat", "messages": HELLO}
        for name, values in {"logprobs": [1, "x", 5], "top_logprobs": [-1, 21, 1.5, "x", True, 2, 0]}.items():
            for value in values:
                with self.subTest(name, value=value):
                    self.refused(CHAT, name, **{**chat, name: value})
        self.refused(CHAT, "top_logprobs", **chat, logprobs=True, top_logprobs=21)
        self.refused(CHAT, "top_logprobs", **chat, logprobs=False, top_logprobs=2)
        for value in (-1, 6, True, 1.5, "x"):
            self.refused(COMPLETIONS, "logprobs", model="text", prompt="a", logprobs=value)
        self.refused(RESPONSES, "top_logprobs", model="chat", input="a", top_logprobs=2)
        self.refused(RESPONSES, "top_logprobs", model="chat", input="a", top_logprobs=21, include=INCLUDE)
        self.refused(RESPONSES, "include", model="chat", input="a", include=["file_search_call.results"])


if __name__ == "__main__":
    unittest.main()
