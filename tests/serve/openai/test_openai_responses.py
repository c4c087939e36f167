"""/v1/responses: every field, whole and streamed, and what is refused."""

from openai_api import OpenAiTest, json, unittest

PATH = "/v1/responses"
KEYS = {"id", "object", "created_at", "status", "background", "error", "incomplete_details", "instructions",
        "max_output_tokens", "metadata", "model", "output", "parallel_tool_calls", "previous_response_id", "reasoning",
        "store", "temperature", "text", "tool_choice", "tools", "top_p", "truncation", "usage", "user"}


class Responses(OpenAiTest):
    def respond(self, **fields):
        answer = self.answer(PATH, **{"model": "chat", "input": "Hello", "temperature": 0, "max_output_tokens": 12, **fields})
        self.assertEqual(set(answer), KEYS)
        return answer

    def text_of(self, answer):
        self.assertEqual(len(answer["output"]), 1)
        message = answer["output"][0]
        self.assertRegex(message["id"], "^msg_[0-9a-f]{32}$")
        self.assertEqual((message["type"], message["role"], message["status"]), ("message", "assistant", answer["status"]))
        part = message["content"][0]
        self.assertEqual({**part, "text": ""}, {"type": "output_text", "text": "", "annotations": [], "logprobs": []})
        return part["text"]

    def stream(self, **fields):
        """The events, checked for their names, numbers and order."""
        connection_fields = {"model": "chat", "input": "Hello", "temperature": 0, "max_output_tokens": 12, **fields,
                             "stream": True}
        status, headers, body = self.server.request("POST", PATH, json.dumps(connection_fields),
                                                    {"Content-Type": "application/json"})
        self.assertEqual((status, headers["Content-Type"].split(";")[0]), (200, "text/event-stream"), body)
        blocks = body.decode().split("\n\n")
        self.assertEqual(blocks.pop(), "")
        events = []
        for number, block in enumerate(blocks):
            name, data = block.split("\n")
            event = json.loads(data.removeprefix("data: "))
            self.assertEqual((name, event["sequence_number"]), (f"event: {event['type']}", number))
            events.append(event)
        return events

    def test_an_answer_has_its_parts(self):
        answer = self.respond()
        self.assertEqual((answer["object"], answer["model"], answer["error"]), ("response", "chat", None))
        self.assertRegex(answer["id"], "^resp_[0-9a-f]{32}$")
        self.assertIs(type(answer["created_at"]), int)
        self.assertEqual((answer["status"], answer["incomplete_details"]), ("incomplete", {"reason": "max_output_tokens"}))
        self.assertEqual(answer["text"], {"format": {"type": "text"}})
        chat = self.answer("/v1/chat/completions", model="chat", messages=[{"role": "user", "content": "Hello"}],
                           temperature=0, max_tokens=12)
        self.assertEqual(self.text_of(answer), chat["choices"][0]["message"]["content"])
        self.assertEqual(answer["usage"], {
            "input_tokens": chat["usage"]["prompt_tokens"], "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 12, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": chat["usage"]["total_tokens"]})

    def test_answers_are_those_of_the_command(self):
        talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "One?"},
                {"role": "assistant", "content": "Two."}, {"role": "user", "content": "Three?"}]
        expected = self.offline(talk, "--max-tokens", 20, "--temperature", 0.9, "--top-p", 0.8, "--seed", 5,
                                model=self.chat)[0]["text"]
        fields = {"max_output_tokens": 20, "temperature": 0.9, "top_p": 0.8, "seed": 5}
        self.assertEqual(self.text_of(self.respond(input=talk, **fields)), expected)
        self.assertEqual(self.text_of(self.respond(input=talk[1:], instructions="Be brief.", **fields)), expected)
        parts = [{"role": "user", "content": [{"type": "input_text", "text": "One?"}]},
                 {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
                  "content": [{"type": "output_text", "text": "Two.", "annotations": [], "logprobs": []}]},
                 {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Three?"}]}]
        self.assertEqual(self.text_of(self.respond(input=parts, instructions="Be brief.", **fields)), expected)

    def test_a_stream_has_the_events_in_their_order(self):
        whole = self.respond()
        events = self.stream()
        kinds = [event["type"] for event in events]
        self.assertEqual(kinds[:4], ["response.created", "response.in_progress", "response.output_item.added",
                                     "response.content_part.added"])
        self.assertEqual(kinds[-4:], ["response.output_text.done", "response.content_part.done",
                                      "response.output_item.done", "response.incomplete"])
        self.assertEqual(set(kinds[4:-4]), {"response.output_text.delta"})
        text = "".join(event["delta"] for event in events[4:-4])
        self.assertEqual(text, self.text_of(whole))
        last = events[-1]["response"]
        self.assertEqual(self.text_of(last), text)
        self.assertEqual({**last, "id": 0, "created_at": 0, "output": 0}, {**whole, "id": 0, "created_at": 0, "output": 0})
        self.assertEqual(events[-4]["text"], text)
        self.assertEqual(events[-3]["part"], last["output"][0]["content"][0])
        self.assertEqual(events[-2]["item"], last["output"][0])
        item = last["output"][0]["id"]
        for event in events[3:-2]:
            self.assertEqual((event["item_id"], event["output_index"], event["content_index"]), (item, 0, 0))
        for event in events[:2]:
            begun = event["response"]
            self.assertEqual((begun["id"], begun["status"], begun["output"], begun["usage"]),
                             (last["id"], "in_progress", [], None))
        self.assertEqual(events[2]["item"], {"type": "message", "id": item, "status": "in_progress", "role": "assistant",
                                             "content": []})

    def test_a_text_of_a_given_form_completes(self):
        form = {"format": {"type": "regex", "regex": "yes|no"}}
        answer = self.respond(text=form)
        self.assertIn(self.text_of(answer), ("yes", "no"))
        self.assertEqual((answer["status"], answer["incomplete_details"], answer["text"]), ("completed", None, form))
        self.assertEqual(self.stream(text=form)[-1]["type"], "response.completed")

    def test_harmless_fields_change_nothing(self):
        same = {"user": "u", "safety_identifier": "s", "prompt_cache_key": "k", "metadata": {"a": "b"}, "store": False,
                "service_tier": "auto", "tools": [], "tool_choice": "none", "parallel_tool_calls": False, "background": False,
                "include": [], "truncation": "disabled", "top_logprobs": 0, "text": {"format": {"type": "text"}},
                "reasoning": {"effort": "none"}, "stream": False}
        answer = self.respond(**same)
        self.assertEqual(self.text_of(answer), self.text_of(self.respond()))
        for name in ("user", "metadata", "tools", "tool_choice", "parallel_tool_calls", "text"):
            self.assertEqual(answer[name], same[name])

    def test_fields_are_refused_by_name(self):
        cases = {"input": [None, 5, [], {}], "instructions": [5, []], "max_output_tokens": [0, 301, "x"], "temperature": [3],
                 "top_p": [2], "store": [True], "previous_response_id": ["resp_1"], "conversation": ["c"],
                 "prompt": [{"id": "a"}], "background": [True], "include": [["a"]], "truncation": ["auto"],
                 "top_logprobs": [1], "reasoning.effort": [], "tools": [[{"type": "web_search"}]], "tool_choice": ["required"],
                 "max_tool_calls": [1], "context_management": [[]], "moderation": [{}], "metadata": [5], "text": [5],
                 "stream": ["x"], "stream_options": [{}], "max_tokens": [5], "messages": [[]], "n": [2], "stop": ["a"],
                 "logprobs": [True], "presence_penalty": [9], "service_tier": ["flex"], "anything": [1]}
        for name, values in cases.items():
            for value in values:
                with self.subTest(name, value=value):
                    self.refused(PATH, name, **{"model": "chat", "input": "a", name: value})

    def test_parts_of_fields_are_refused_by_name(self):
        cases = [("reasoning.effort", {"reasoning": {"effort": "low"}}), ("reasoning.summary", {"reasoning": {"summary": "auto"}}),
                 ("text.verbosity", {"text": {"verbosity": "low"}}), ("text.format.type", {"text": {"format": {"type": "xml"}}}),
                 ("text.other", {"text": {"other": 1}}), ("input[0].type", {"input": [{"type": "item_reference", "id": "a"}]}),
                 ("input[0].role", {"input": [{"role": "tool", "content": "a"}]}),
                 ("input[0].content[0].type", {"input": [{"role": "user", "content": [{"type": "input_image"}]}]}),
                 ("stream_options.include_usage", {"stream": True, "stream_options": {"include_usage": True}})]
        for param, fields in cases:
            with self.subTest(param, fields=fields):
                self.refused(PATH, param, **{"model": "chat", "input": "a", **fields})
        self.refused(PATH, "input", "512", model="chat", input="a" * 600)
        self.refused(PATH, "input", "512", model="chat", input="a" * 600, stream=True)
        self.refused(PATH, "model", model="text", input="a")


if __name__ == "__main__":
    unittest.main()
