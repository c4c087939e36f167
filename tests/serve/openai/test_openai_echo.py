"""Prompts in the answers of /v1/completions, with the probabilities of their tokens, as evaluations ask for them."""

from openai_api import OpenAiTest, json, make, unittest

PATH = "/v1/completions"
PROMPT = "Über uns: a man, 2 dogs."
LISTS = ("tokens", "token_logprobs", "top_logprobs", "text_offset")


class Echo(OpenAiTest):
    def choices(self, **fields):
        return self.answer(PATH, **{"model": "text", "prompt": PROMPT, "temperature": 0, "echo": True, "logprobs": 2,
                                    **fields})["choices"]

    def probability_after(self, prompt, character, model="text"):
        """Of the character's only byte, which a rule makes the model write: what is reported is the model's own."""
        form = {"type": "regex", "regex": character if character.isalnum() else f"[{character}]"}
        logprobs = self.answer(PATH, model=model, prompt=prompt, temperature=0, logprobs=0, max_tokens=1,
                               response_format=form)["choices"][0]["logprobs"]
        return logprobs["token_logprobs"][0]

    def test_a_prompt_alone_is_scored(self):
        for likeliest in (0, 1, 5):
            choice = self.choices(max_tokens=0, logprobs=likeliest)[0]
            self.assertEqual((choice["text"], choice["finish_reason"]), (PROMPT, "length"))
            logprobs = choice["logprobs"]
            self.assertEqual(tuple(logprobs), LISTS)
            # A token is a byte; those of a character of two are shown as such.
            self.assertEqual(logprobs["tokens"], ["\\xc3", "\\x9c", *PROMPT[1:]])
            self.assertEqual(logprobs["text_offset"], [0, *range(len(PROMPT))])
            self.assertIsNone(logprobs["token_logprobs"][0])
            self.assertIsNone(logprobs["top_logprobs"][0])
            for token, probability, top in list(zip(*(logprobs[name] for name in LISTS[:3])))[1:]:
                self.assertLess(probability, 0)
                self.assertEqual(top[token], probability)
                self.assertIn(len(top), (likeliest, likeliest + 1))
                self.assertTrue(all(one >= probability for one in top.values()) or len(top) <= likeliest)

    def test_probabilities_are_those_of_writing_to_the_last_bit(self):
        for model in ("text", "endless"):
            found = self.choices(max_tokens=0, model=model)[0]["logprobs"]["token_logprobs"]
            for at in (1, 5, 12, len(PROMPT) - 1):
                with self.subTest(model, at=at):
                    self.assertEqual(found[at + 1], self.probability_after(PROMPT[:at], PROMPT[at], model))

    def test_long_prompts_are_read_in_parts(self):
        prompt = " ".join(f"line {i}" for i in range(55))
        self.assertGreater(len(prompt), 400)
        found = self.choices(prompt=prompt, max_tokens=0)[0]["logprobs"]["token_logprobs"]
        self.assertEqual(len(found), len(prompt))
        for at in (31, 32, 33, 64, 65, 300, len(prompt) - 1):
            self.assertEqual(found[at], self.probability_after(prompt[:at], prompt[at]), at)
        status, scored = self.server.post("/heed/score", {"model": "text", "text": prompt, "tokens": True})
        self.assertEqual(status, 200, scored)
        for one, other in list(zip(found, scored["scores"][0]["each"]))[1:]:
            self.assertAlmostEqual(one, other["log_probability"], places=3)

    def test_a_text_follows_its_prompt(self):
        plain = self.choices(echo=False, max_tokens=9)[0]
        alone = self.choices(max_tokens=0)[0]["logprobs"]
        choice = self.choices(max_tokens=9)[0]
        self.assertEqual(choice["text"], PROMPT + plain["text"])
        for name in LISTS:
            expected = plain["logprobs"][name]
            if name == "text_offset":
                expected = [len(PROMPT) + at for at in expected]
            self.assertEqual(choice["logprobs"][name], alone[name] + expected, name)

    def test_an_end_counts_as_a_token_after_a_prompt(self):
        # Clients cut the list by the number of tokens that were written.
        fields = {"response_format": {"type": "regex", "regex": "yes"}, "max_tokens": 9}
        choice = self.choices(**fields)[0]
        self.assertEqual(choice["text"], PROMPT + "yes")
        self.assertEqual(choice["logprobs"]["tokens"][-4:], ["y", "e", "s", "</s>"])
        self.assertEqual(self.choices(echo=False, **fields)[0]["logprobs"]["tokens"], ["y", "e", "s"])
        stopped = self.choices(stop="s", **fields)[0]
        self.assertEqual(stopped["logprobs"]["tokens"][-3:], [".", "y", "e"])

    def test_several_prompts_and_texts(self):
        prompts = ["A man", "Bb", "", "A man"]
        alone = [self.choices(prompt=prompt, max_tokens=4, temperature=1, seed=2, n=2) for prompt in prompts]
        together = self.choices(prompt=prompts, max_tokens=4, temperature=1, seed=2, n=2)
        self.assertEqual([{**choice, "index": 0} for choice in together],
                         [{**choice, "index": 0} for choices in alone for choice in choices])
        self.assertEqual([choice["index"] for choice in together], list(range(8)))
        self.assertEqual(self.choices(prompt="", max_tokens=0)[0]["logprobs"], {name: [] for name in LISTS})

    def test_a_stream_has_the_same(self):
        for fields in ({"max_tokens": 0}, {"max_tokens": 12}, {"max_tokens": 6, "n": 2, "temperature": 1, "seed": 4},
                       {"max_tokens": 9, "response_format": {"type": "regex", "regex": "yes"}}):
            whole = self.choices(prompt=["A man", "Ü"], **fields)
            texts = [{"text": "", "logprobs": {name: [] for name in LISTS}, "finish_reason": None} for _ in whole]
            events = self.server.events(PATH, {"model": "text", "prompt": ["A man", "Ü"], "temperature": 0, "echo": True,
                                               "logprobs": 2, **fields, "stream": True})
            self.assertEqual(events.pop(), "[DONE]")
            for event in events:
                choice = json.loads(event)["choices"][0]
                text = texts[choice["index"]]
                text["text"] += choice["text"]
                text["finish_reason"] = choice["finish_reason"]
                for name, values in (choice["logprobs"] or {}).items():
                    text["logprobs"][name] += values
            self.assertEqual(texts, [{name: choice[name] for name in texts[0]} for choice in whole])

    def test_nothing_is_written_where_nothing_is_asked_for(self):
        answer = self.answer(PATH, model="text", prompt=["A man", "Bb"], echo=True, max_tokens=0, n=2)
        self.assertEqual([choice["text"] for choice in answer["choices"]], ["A man", "A man", "Bb", "Bb"])
        self.assertTrue(all(choice["logprobs"] is None for choice in answer["choices"]))
        self.check_usage(answer["usage"], 6 + 3, 0)
        self.assertEqual(self.answer(PATH, model="text", prompt="A", echo=True, max_tokens=0, best_of=3)["choices"],
                         [{"text": "A", "index": 0, "logprobs": None, "finish_reason": "length"}])

    def test_tokens_of_other_tokenizers_spell_the_prompt(self):
        model = make(self.path / "pieces", "architecture=causal-lm", "kind=bpe", "positions=rotary", "documents=line", "scale=3")
        server = self.serve("--model", f"pieces={model}")
        prompt = "A man and two dogs"
        status, answer = server.post(PATH, {"prompt": prompt, "echo": True, "max_tokens": 0, "logprobs": 1})
        self.assertEqual(status, 200, answer)
        logprobs = answer["choices"][0]["logprobs"]
        self.assertEqual("".join(logprobs["tokens"]).strip(), prompt)
        for at, token in zip(logprobs["text_offset"], logprobs["tokens"]):
            self.assertTrue(prompt[at:].lstrip().startswith(token.lstrip()), (at, token))

    def test_fields_are_refused_by_name(self):
        self.refused(PATH, "max_tokens", model="text", prompt="a", max_tokens=0)
        self.refused(PATH, "max_tokens", model="text", prompt="a", max_tokens=-1, echo=True)
        self.refused(PATH, "prompt[1]", "takes at most 511", model="text", prompt=["a", "a" * 600], echo=True, max_tokens=0,
                     logprobs=1)
        self.refused(PATH, "logit_bias", model="text", prompt="a", echo=True, max_tokens=0, logit_bias={"99999": 1})
        status, answer = self.server.post(PATH, {"model": "text", "prompt": "a" * 400, "echo": True, "max_tokens": 0,
                                                 "logprobs": 1}, {"Heed-Timeout": "0"})
        self.assertEqual(status, 504, answer)


if __name__ == "__main__":
    unittest.main()
