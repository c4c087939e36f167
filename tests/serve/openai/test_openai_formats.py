"""The form of a text in OpenAI's interface: JSON objects, JSON by a schema, regular expressions."""

from openai_api import OpenAiTest, json, unittest

CHAT, COMPLETIONS, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
HELLO = [{"role": "user", "content": "Hello"}]
SCHEMA = {"type": "object", "properties": {"answer": {"enum": ["yes", "no"]}, "sure": {"type": "boolean"}},
          "required": ["answer", "sure"], "additionalProperties": False}
FORMAT = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True, "description": "short"}}


class Formats(OpenAiTest):
    def check_answer(self, text):
        value = json.loads(text)
        self.assertEqual(set(value), {"answer", "sure"})
        self.assertIn(value["answer"], ("yes", "no"))
        self.assertIs(type(value["sure"]), bool)

    def test_texts_are_valid_against_a_schema(self):
        fields = {"temperature": 1, "n": 4, "seed": 2, "max_tokens": 100, "response_format": FORMAT}
        chat = self.answer(CHAT, model="chat", messages=HELLO, **fields)
        completion = self.answer(COMPLETIONS, model="text", prompt="Hello", **fields)
        for choice in chat["choices"] + completion["choices"]:
            self.check_answer(choice["message"]["content"] if "message" in choice else choice["text"])
            self.assertEqual(choice["finish_reason"], "stop")
        form = {**FORMAT["json_schema"], "type": "json_schema"}
        answer = self.answer(RESPONSES, model="chat", input="Hello", text={"format": form}, max_output_tokens=100)
        self.check_answer(answer["output"][0]["content"][0]["text"])
        self.assertEqual((answer["status"], answer["text"]), ("completed", {"format": form}))

    def test_they_are_those_of_the_command(self):
        schema = self.file("schema.json", json.dumps(SCHEMA))
        options = ["--max-tokens", 100, "--temperature", 1, "--seed", 2, "--json-schema", schema]
        expected = self.offline("Hello", *options)[0]["text"]
        found = self.answer(COMPLETIONS, model="text", prompt="Hello", temperature=1, seed=2, max_tokens=100,
                            response_format=FORMAT)
        self.assertEqual(found["choices"][0]["text"], expected)

    def test_texts_are_json_objects(self):
        answer = self.answer(CHAT, model="chat", messages=HELLO, response_format={"type": "json_object"}, n=30, temperature=1.5,
                             seed=1, max_tokens=300)
        whole = [one["message"]["content"] for one in answer["choices"] if one["finish_reason"] == "stop"]
        self.assertGreater(len(whole), 0)
        for text in whole:
            self.assertIs(type(json.loads(text)), dict)
        self.assertTrue(all(one["message"]["content"].lstrip().startswith("{") for one in answer["choices"]))

    def test_wrong_formats_are_refused_by_name(self):
        cases = [("response_format.json_schema", {"type": "json_schema"}),
                 ("response_format.json_schema", {"type": "json_schema", "json_schema": 5}),
                 ("response_format.json_schema.name", {"type": "json_schema", "json_schema": {"schema": SCHEMA}}),
                 ("response_format.json_schema.schema", {"type": "json_schema", "json_schema": {"name": "a"}}),
                 ("response_format.json_schema.schema", {"type": "json_schema", "json_schema": {"name": "a", "schema": 5}}),
                 ("response_format.json_schema.schema",
                  {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object", "unheard-of": 5}}}),
                 ("response_format.json_schema.strict",
                  {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "strict": 5}}),
                 ("response_format.json_schema.more",
                  {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "more": 5}}),
                 ("response_format.json_schema", {"type": "json_object", "json_schema": {"name": "a", "schema": SCHEMA}}),
                 ("response_format.schema", {"type": "json_object", "schema": SCHEMA})]
        for param, form in cases:
            for path, fields in ((CHAT, {"model": "chat", "messages": HELLO}), (COMPLETIONS, {"model": "text", "prompt": "a"})):
                with self.subTest(param, form=form):
                    self.refused(path, param, response_format=form, **fields)
        self.refused(RESPONSES, "text.format.schema", model="chat", input="a",
                     text={"format": {"type": "json_schema", "name": "a"}})
        # A text that is valid has more tokens.
        self.refused(CHAT, "messages", "3 tokens", model="chat", messages=HELLO, max_tokens=3, response_format=FORMAT)


if __name__ == "__main__":
    unittest.main()
