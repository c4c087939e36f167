"""/v1/chat/completions: every field, whole and streamed, and what is refused."""

from openai_api import ANSWER_KEYS, OpenAiTest, json, unittest

PATH = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Hello"}]


class Chat(OpenAiTest):
    def chat_with(self, **fields):
        return self.answer(PATH, **{"model": "chat", "messages": HELLO, "temperature": 0, "max_tokens": 12, **fields})

    def texts(self, **fields):
        return [choice["message"]["content"] for choice in self.chat_with(**fields)["choices"]]

    def stream(self, **fields):
        events = self.server.events(PATH, {"model": "chat", "messages": HELLO, "temperature": 0, "max_tokens": 12,
                                           **fields, "stream": True})
        self.assertEqual(events.pop(), "[DONE]")
        chunks = [json.loads(event) for event in events]
        for chunk in chunks:
            self.check_heading(chunk, "chat.completion.chunk", "chatcmpl-", "chat")
        self.assertEqual(len({(chunk["id"], chunk["created"]) for chunk in chunks}), 1)
        return chunks

    def answers_of(self, chunks, count):
        """Roles first, in the order of the answers; then pieces; then for each answer its end, once."""
        first = [chunk["choices"][0] for chunk in chunks[:count]]
        self.assertEqual([choice["index"] for choice in first], list(range(count)))
        for choice in first:
            self.assertEqual(choice["delta"], {"role": "assistant", "content": "", "refusal": None})
        texts, reasons = [""] * count, [None] * count
        for chunk in chunks[count:]:
            for choice in chunk["choices"]:
                self.assertEqual(set(choice), {"index", "delta", "logprobs", "finish_reason"})
                index = choice["index"]
                self.assertIsNone(reasons[index], "a piece after the end")
                reasons[index] = choice["finish_reason"]
                self.assertEqual(list(choice["delta"]), [] if reasons[index] else ["content"])
                texts[index] += choice["delta"].get("content", "")
        return texts, reasons

    def conversation(self, *messages, **fields):
        """The answer to it, and what the offline command makes of the same."""
        given = [{"role": role, "content": content} for role, content in messages]
        return self.texts(messages=given, **fields)[0]

    def expected(self, *messages):
        given = [{"role": role, "content": content} for role, content in messages]
        return self.offline(given, "--max-tokens", 12, "--temperature", 0, model=self.chat)[0]["text"]

    def test_an_answer_has_its_parts(self):
        answer = self.chat_with()
        self.assertEqual(set(answer), ANSWER_KEYS)
        self.check_heading(answer, "chat.completion", "chatcmpl-", "chat")
        choice = answer["choices"][0]
        self.assertEqual({**choice, "message": {}},
                         {"index": 0, "message": {}, "logprobs": None, "finish_reason": "length"})
        self.assertEqual({**choice["message"], "content": ""}, {"role": "assistant", "content": "", "refusal": None})
        prompt = self.offline(HELLO, "--max-tokens", 1, model=self.chat)[0]["prompt"]
        self.check_usage(answer["usage"], len(prompt), 12)

    def test_answers_are_those_of_the_command(self):
        cases = [({"temperature": 0}, ["--temperature", 0]),
                 ({"temperature": 0.8, "top_p": 0.9, "seed": 7, "n": 4},
                  ["--temperature", 0.8, "--top-p", 0.9, "--seed", 7, "--n", 4]),
                 ({"presence_penalty": 1.5, "frequency_penalty": -0.5, "temperature": 1, "seed": 3},
                  ["--presence-penalty", 1.5, "--frequency-penalty", -0.5, "--temperature", 1, "--seed", 3])]
        for fields, options in cases:
            with self.subTest(fields):
                expected = self.offline(HELLO, "--max-tokens", 24, *options, model=self.chat)
                answer = self.chat_with(max_tokens=24, **fields)
                self.assertEqual([choice["message"]["content"] for choice in answer["choices"]],
                                 [one["text"] for one in expected])
                self.assertEqual(answer["usage"]["completion_tokens"], sum(one["tokens"] for one in expected))
                texts, reasons = self.answers_of(self.stream(max_tokens=24, **fields), len(expected))
                self.assertEqual(texts, [one["text"] for one in expected])
                self.assertEqual(reasons, [choice["finish_reason"] for choice in answer["choices"]])

    def test_roles_go_into_the_template(self):
        talk = [("system", "Be brief."), ("user", "One?"), ("assistant", "Two."), ("user", " Three? ")]
        self.assertEqual(self.conversation(*talk), self.expected(*talk))
        self.assertNotEqual(self.conversation(*talk), self.conversation(*talk[1:]))
        self.assertEqual(self.conversation(("developer", "Be brief."), *talk[1:]), self.conversation(*talk))

    def test_names_and_template_options_reach_the_template(self):
        named = [{"role": "user", "content": "Hello", "name": "Ann"}]
        expected = self.offline(named, "--max-tokens", 12, "--temperature", 0, model=self.chat)[0]["text"]
        self.assertEqual(self.texts(messages=named), [expected])
        self.assertNotEqual(expected, self.texts()[0])
        self.assertNotEqual(self.texts(chat_template_kwargs={"prefix": "Long "}), self.texts())

    def test_content_may_be_parts(self):
        parts = [{"type": "text", "text": "Hello"}, {"type": "text", "text": "there"}]
        for role in ("user", "assistant"):
            self.assertEqual(self.conversation((role, parts)), self.conversation((role, "Hello\nthere")))
        self.assertEqual(self.conversation(("user", parts[:1])), self.conversation(("user", "Hello")))

    def test_the_number_of_tokens_has_two_names(self):
        for fields in ({"max_completion_tokens": 5}, {"max_tokens": 5}, {"max_tokens": 5, "max_completion_tokens": 5},
                       {"max_tokens": None, "max_completion_tokens": 5}):
            answer = self.answer(PATH, model="chat", messages=HELLO, temperature=0, **fields)
            self.assertEqual((answer["usage"]["completion_tokens"], answer["choices"][0]["finish_reason"]), (5, "length"))
        self.refused(PATH, "max_tokens", model="chat", messages=HELLO, max_tokens=5, max_completion_tokens=6)

    def test_without_max_tokens_an_answer_may_be_as_long_as_the_model_takes(self):
        usage = self.answer(PATH, model="endless", messages=[{"role": "user", "content": "a" * 480}], temperature=0)["usage"]
        self.assertEqual(usage["total_tokens"], 513)  # the last token is not read any more
        usage = self.answer(PATH, model="endless", messages=HELLO, temperature=0)["usage"]
        self.assertEqual(usage["completion_tokens"], 300)  # limits.max_tokens

    def test_a_text_ends_before_a_stop_text(self):
        whole = self.texts(max_tokens=30)[0]
        stop = whole[9:12]
        answer = self.chat_with(max_tokens=30, stop=stop)["choices"][0]
        self.assertEqual((answer["message"]["content"], answer["finish_reason"]), (whole[:whole.find(stop)], "stop"))
        texts, reasons = self.answers_of(self.stream(max_tokens=30, stop=[stop]), 1)
        self.assertEqual((texts, reasons), ([whole[:whole.find(stop)]], ["stop"]))

    def test_a_text_of_a_given_form_stops_when_it_is_whole(self):
        form = {"type": "regex", "regex": "yes|no"}
        choice = self.chat_with(response_format=form)["choices"][0]
        self.assertIn(choice["message"]["content"], ("yes", "no"))
        self.assertEqual(choice["finish_reason"], "stop")
        self.assertEqual(self.answers_of(self.stream(response_format=form), 1), ([choice["message"]["content"]], ["stop"]))

    def test_usage_comes_in_a_last_chunk_where_it_is_asked_for(self):
        chunks = self.stream(stream_options={"include_usage": True})
        last = chunks.pop()
        self.assertEqual(last["choices"], [])
        self.assertEqual(last["usage"], self.chat_with()["usage"])
        self.assertTrue(all("usage" in chunk and chunk["usage"] is None for chunk in chunks))
        self.answers_of(chunks, 1)
        self.assertTrue(all(len(chunk["choices"]) == 1 and "usage" not in chunk for chunk in self.stream()))

    def test_harmless_fields_change_nothing(self):
        same = {"user": "u", "safety_identifier": "s", "prompt_cache_key": "k", "prompt_cache_retention": "in_memory",
                "metadata": {"a": "b"}, "store": False, "service_tier": "auto", "logit_bias": {}, "tools": [],
                "tool_choice": "none", "parallel_tool_calls": False, "functions": [], "function_call": "none",
                "modalities": ["text"], "response_format": {"type": "text"}, "reasoning_effort": "none", "logprobs": False}
        self.assertEqual(self.texts(**same), self.texts())
        tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
        self.assertEqual(self.texts(tools=[tool], tool_choice="none"), self.texts())
        self.assertEqual(self.texts(tool_choice="auto"), self.texts())

    def test_fields_are_refused_by_name(self):
        tool = {"type": "function", "function": {"name": "f"}}
        cases = {
            "messages": [None, 5, [], "Hello", {}],
            "max_tokens": [0, -1, 301, 1.5, "5"], "max_completion_tokens": [0, 301, "x"], "n": [0, 129, "1"],
            "temperature": [-0.1, 2.1, "hot"], "top_p": [-1, 1.01], "presence_penalty": [-2.5, 3],
            "frequency_penalty": [-2.5, 3], "seed": ["x", 1.5], "stop": [5, "", ["a"] * 5], "stream": [1],
            "logit_bias": [{"a": 1}], "user": [5], "metadata": [5], "store": [True], "service_tier": ["flex", 5],
            "prompt_cache_retention": ["24h"], "prompt_cache_options": [{}], "prompt_cache_key": [5],
            "safety_identifier": [5], "tools": [[tool], 5], "tool_choice": ["required", {"type": "function"}],
            "functions": [[{"name": "f"}]], "function_call": ["auto", {"name": "f"}], "parallel_tool_calls": ["x"],
            "modalities": [["text", "audio"], ["audio"]], "audio": [{"voice": "a", "format": "mp3"}],
            "prediction": [{"type": "content", "content": "a"}], "web_search_options": [{}], "moderation": [{}],
            "reasoning_effort": ["low", "high", 5], "verbosity": ["low"], "response_format": [5],
            "stream_options": [{"include_usage": True}], "suffix": ["a"], "echo": [True], "best_of": [2], "prompt": ["a"],
            "chat_template_kwargs": [5, []], "anything": [1, False]}
        for name, values in cases.items():
            for value in values:
                with self.subTest(name, value=value):
                    param = "messages" if name == "chat_template_kwargs" else name
                    self.refused(PATH, param, **{"model": "chat", "messages": HELLO, name: value})
        self.assertEqual(len(self.texts()), 1)

    def test_parts_of_messages_are_refused_by_name(self):
        cases = [("messages[0]", 5), ("messages[0].role", {"content": "a"}), ("messages[0].role", {"role": 5, "content": "a"}),
                 ("messages[0].role", {"role": "critic", "content": "a"}), ("messages[0].role", {"role": "tool", "content": "a"}),
                 ("messages[0].role", {"role": "function", "content": "a", "name": "f"}),
                 ("messages[0].content", {"role": "user"}), ("messages[0].content", {"role": "user", "content": None}),
                 ("messages[0].content", {"role": "user", "content": 5}), ("messages[0].content", {"role": "user", "content": []}),
                 ("messages[0].content[0]", {"role": "user", "content": ["a"]}),
                 ("messages[0].content[0].type", {"role": "user", "content": [{"text": "a"}]}),
                 ("messages[0].content[1].type", {"role": "user", "content": [
                     {"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:"}}]}),
                 ("messages[0].content[0].text", {"role": "user", "content": [{"type": "text"}]}),
                 ("messages[0].content[0].more", {"role": "user", "content": [{"type": "text", "text": "a", "more": 1}]}),
                 ("messages[0].content[0].type", {"role": "assistant", "content": [{"type": "refusal", "refusal": "a"}]}),
                 ("messages[0].tool_calls", {"role": "assistant", "content": "a", "tool_calls": [{"id": "a"}]}),
                 ("messages[0].refusal", {"role": "assistant", "content": "a", "refusal": "b"}),
                 ("messages[0].audio", {"role": "assistant", "content": "a", "audio": {"id": "b"}}),
                 ("messages[0].function_call", {"role": "assistant", "content": "a", "function_call": {"name": "b"}}),
                 ("messages[0].name", {"role": "user", "content": "a", "name": 5}),
                 ("messages[0].anything", {"role": "user", "content": "a", "anything": 5})]
        for param, message in cases:
            with self.subTest(param, message=message):
                self.refused(PATH, param, model="chat", messages=[message])
        self.refused(PATH, "messages[1].role", model="chat", messages=HELLO + [{"role": "critic", "content": "a"}])

    def test_conversations_that_are_too_long_are_refused(self):
        long = [{"role": "user", "content": "a" * 600}]
        for fields in ({}, {"max_tokens": 5}, {"stream": True}):
            self.refused(PATH, "messages", "512", model="chat", messages=long, **fields)

    def test_a_model_without_a_template_is_refused(self):
        self.refused(PATH, "model", "template", model="text", messages=HELLO)
        self.refused(PATH, "model", "translator", model="translates", messages=HELLO)
        self.refused(PATH, "model", model="nobody", messages=HELLO, status=404)


if __name__ == "__main__":
    unittest.main()
