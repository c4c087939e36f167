"""logit_bias: what is added to the logits of tokens, in all interfaces that write texts."""

from openai_api import OpenAiTest, json, unittest

CHAT, COMPLETIONS, GENERATE = "/v1/chat/completions", "/v1/completions", "/heed/generate"
HELLO = [{"role": "user", "content": "Hello"}]


class LogitBias(OpenAiTest):
    def generate(self, **fields):
        return self.answer(GENERATE, **{"model": "text", "prompt": "Hello", "temperature": 0, "max_tokens": 12, **fields})

    def complete(self, **fields):
        return self.answer(COMPLETIONS, **{"model": "text", "prompt": "Hello", "temperature": 0, "max_tokens": 12,
                                           **fields})["choices"][0]

    def chat_text(self, **fields):
        return self.answer(CHAT, **{"model": "chat", "messages": HELLO, "temperature": 0, "max_tokens": 12,
                                    **fields})["choices"][0]["message"]["content"]

    def id_of(self, character):
        token, = self.generate(regex=character, max_tokens=1, tokens=True)["texts"][0]["each"]
        return str(token["id"])

    def test_a_token_is_made_certain_or_forbidden(self):
        z = self.id_of("z")
        self.assertEqual(self.complete(logit_bias={z: 100})["text"], "z" * 12)
        self.assertEqual(self.complete(logit_bias={z: 100}, temperature=1)["text"], "z" * 12)
        self.assertEqual(self.chat_text(logit_bias={z: 100}), "z" * 12)
        self.assertEqual(self.generate(logit_bias={z: 100})["texts"][0]["text"], "z" * 12)
        plain = self.complete(response_format={"type": "regex", "regex": "[a-z]{12}"})["text"]
        banned = self.complete(response_format={"type": "regex", "regex": "[a-z]{12}"},
                               logit_bias={self.id_of(plain[3]): -100})["text"]
        self.assertNotIn(plain[3], banned)

    def test_rules_come_before_biases(self):
        z = self.id_of("z")
        self.assertNotIn("z", self.complete(logit_bias={z: 100}, response_format={"type": "regex", "regex": "[a-y]{9}"})["text"])

    def test_no_bias_changes_no_bit(self):
        for fields in ({}, {"temperature": 1, "seed": 5, "logprobs": 3}, {"frequency_penalty": 1, "logprobs": 0}):
            plain = self.complete(**fields)
            self.assertEqual(self.complete(logit_bias={}, **fields), plain)
            self.assertEqual(self.complete(logit_bias={self.id_of("q"): 0}, **fields), plain)

    def test_probabilities_are_the_model_s_own(self):
        plain = self.complete(logprobs=3)["logprobs"]
        biased = self.complete(logprobs=3, logit_bias={self.id_of("z"): 100})["logprobs"]
        self.assertEqual(biased["tokens"][0], "z")
        self.assertLess(biased["token_logprobs"][0], plain["token_logprobs"][0])
        self.assertEqual({name: value for name, value in biased["top_logprobs"][0].items() if name != "z"},
                         {name: value for name, value in plain["top_logprobs"][0].items() if name != "z"})

    def test_texts_are_those_of_the_command(self):
        biases = {self.id_of("z"): 3.5, self.id_of("e"): -8}
        options = [word for token, bias in biases.items() for word in ("--logit-bias", f"{token}={bias}")]
        for fields, given in (({"temperature": 0}, ["--temperature", 0]),
                              ({"temperature": 1, "seed": 3, "presence_penalty": 1},
                               ["--temperature", 1, "--seed", 3, "--presence-penalty", 1])):
            expected = self.offline("Hello", "--max-tokens", 12, *given, *options)[0]["text"]
            self.assertEqual(self.complete(logit_bias=biases, **fields)["text"], expected)
            self.assertEqual(self.generate(logit_bias=biases, **fields)["texts"][0]["text"], expected)
            events = self.server.events(COMPLETIONS, {"model": "text", "prompt": "Hello", "max_tokens": 12, "stream": True,
                                                      "logit_bias": biases, **fields})
            self.assertEqual("".join(json.loads(event)["choices"][0]["text"] for event in events[:-1]), expected)

    def test_what_is_no_bias_is_refused_by_name(self):
        for value in ([], 5, "x", {"x": 1}, {"": 1}, {"1.5": 1}, {"5": "1"}, {"5": None}, {"5": 101}, {"5": -100.5},
                      {"99999": 1}, {"-1": 1}, {"99999999999999999999": 1}, {"5": True}):
            with self.subTest(value):
                self.refused(COMPLETIONS, "logit_bias", model="text", prompt="a", logit_bias=value)
                self.refused(CHAT, "logit_bias", model="chat", messages=HELLO, logit_bias=value)
                status, answer = self.server.post(GENERATE, {"model": "text", "prompt": "a", "logit_bias": value})
                self.assertEqual((status, answer["error"]["field"]), (400, "logit_bias"), answer)
        error = self.refused(COMPLETIONS, "logit_bias", model="text", prompt="a", logit_bias={"99999": 1})
        self.assertIn("99999", error["message"])


if __name__ == "__main__":
    unittest.main()
