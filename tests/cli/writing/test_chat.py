"""heed chat, and conversations in heed generate: what the model is given, and what is refused."""

import json
import os
import pathlib
import pty
import select
import shutil
import subprocess
import tempfile
import unittest

import heed_cli
from heed_cli import BINARY, run

MAKE_MODEL = os.environ["HEED_MAKE_MODEL"]
TEMPLATE = """{%- for m in messages %}[{{ m.role }}] {{ m.content | trim }}{{ eos_token if m.role == 'assistant' }}
{% endfor %}
{% if add_generation_prompt %}[assistant] {% endif %}
"""


class ChatTest(heed_cli.CliTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.plain = pathlib.Path(folder.name) / "plain"
        cls.model = pathlib.Path(folder.name) / "model"
        subprocess.run([MAKE_MODEL, cls.plain, "architecture=causal-lm", "kind=byte", "vocabulary=0", "positions=rotary",
                        "max_length=512", "documents=line"], check=True)
        shutil.copytree(cls.plain, cls.model)
        (cls.model / "chat_template.jinja").write_text(TEMPLATE)

    def chat(self, text, *options, model=None):
        result = run("chat", "--model", model or self.model, "--temperature", 0, "--max-tokens", 6, *options, text=text)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def answer(self, messages, **more):
        """What generate makes of a conversation: its prompt and the text."""
        line = json.dumps({"messages": [{"role": role, "content": content} for role, content in messages], **more})
        result = run("generate", "--model", self.model, "--temperature", 0, "--max-tokens", 6, "--json", text=line + "\n")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return json.loads(result.stdout)

    def test_a_conversation_in_generate_is_put_into_the_template(self):
        found = self.answer([("system", "s"), ("user", " a "), ("assistant", "b"), ("critic", "c")])
        self.assertEqual(found["prompt"], "[system] s\n[user] a\n[assistant] b</s>\n[critic] c\n[assistant] ")
        self.assertEqual(found["tokens"], 6)

    def test_a_quantized_model_keeps_the_template(self):
        small = self.path / "small"
        result = run("quantize", "--model", self.model, "--out", small, "--type", "f32")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.chat("Hello\n", model=small), self.chat("Hello\n"))

    def test_marks_in_the_template_are_the_model_s_tokens(self):
        marked, spelled = self.path / "marked", self.path / "spelled"
        for folder, template in ((marked, "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}x"),
                                 (spelled, "{{ messages[0].content }}x")):
            shutil.copytree(self.plain, folder)
            (folder / "chat_template.jinja").write_text(template)
        line = '{"messages": [{"role": "user", "content": "Hello"}]}\n'
        whole = '{"messages": [{"role": "user", "content": "<s>Hello</s>"}]}\n'
        texts = [run("generate", "--model", folder, "--temperature", 0, "--json", "--token-scores", text=text).stdout
                 for folder, text in ((marked, line), (spelled, whole), (spelled, line))]
        self.assertEqual(json.loads(texts[0]), json.loads(texts[1]))
        self.assertNotEqual(json.loads(texts[0])["each"], json.loads(texts[2])["each"])

    def test_an_answer_is_part_of_what_comes_next(self):
        first = self.answer([("user", "One?")])["text"]
        second = self.answer([("user", "One?"), ("assistant", first), ("user", "Two?")])["text"]
        self.assertEqual(self.chat("One?\n\nTwo?\n"), f"{first}\n{second}\n")

    def test_commands_change_the_conversation(self):
        first = self.answer([("user", "One?")])["text"]
        brief = self.answer([("system", "Be brief."), ("user", "One?")])["text"]
        self.assertNotEqual(self.answer([("system", "Be brief."), ("user", "One?")])["prompt"], "")
        self.assertEqual(self.chat("One?\n/reset\nOne?\n"), f"{first}\n" * 2)
        self.assertEqual(self.chat("One?\n/system Be brief.\nOne?\n/reset\nOne?\n/system\nOne?\n"),
                         f"{first}\n{brief}\n{brief}\n{first}\n")
        self.assertEqual(self.chat("One?\n", "--system", "Be brief."), f"{brief}\n")
        self.assertEqual(self.chat("One?\n/quit\nTwo?\n"), f"{first}\n")
        self.assertEqual(self.chat(""), "")
        self.assert_refused("chat", "--model", self.model, text="/what\n", mentions=["stdin:1", "/what", "/reset"])

    def test_the_template_of_tokenizer_config_counts_where_there_is_no_file(self):
        model = self.path / "model"
        shutil.copytree(self.plain, model)
        named = [{"name": "tools", "template": "{{ no }}"}, {"name": "default", "template": TEMPLATE}]
        for config in ({"chat_template": TEMPLATE}, {"chat_template": named, "model_max_length": 10 ** 30}):
            (model / "tokenizer_config.json").write_text(json.dumps(config))
            self.assertEqual(self.chat("One?\n", model=model), self.chat("One?\n"))
        (model / "tokenizer_config.json").write_text(json.dumps({"chat_template": "x{{ bos_token }}", "bos_token": {"content": "<B>"}}))
        found = run("generate", "--model", model, "--json", "--max-tokens", 1,
                    text='{"messages": [{"role": "user", "content": "a"}]}\n').stdout
        self.assertEqual(json.loads(found)["prompt"], "x<B>")

    def test_a_terminal_is_asked_for_lines_and_told_what_was_wrong(self):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([BINARY, "chat", "--model", self.model, "--temperature", "0", "--max-tokens", "6"],
                                   stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = ""

        def read_until(words):
            nonlocal shown
            while words not in shown:
                self.assertTrue(select.select([ours], [], [], 60)[0], shown)
                shown += os.read(ours, 65536).decode()
            shown = shown[shown.index(words) + len(words):]

        read_until("> ")
        os.write(ours, b"/what\n")
        read_until("is not a command")
        read_until("> ")
        os.write(ours, b"One?\n")
        read_until(self.answer([("user", "One?")])["text"].split("\n")[0])
        read_until("> ")
        os.write(ours, b"/quit\n")
        self.assertEqual(process.wait(60), 0)
        os.close(ours)

    def test_what_is_wrong_is_refused_in_one_line(self):
        good = '{"messages": [{"role": "user", "content": "a"}]}\n'
        self.assert_refused("chat", "--model", self.plain, text="a\n", mentions=["chat_template.jinja", "tokenizer_config.json"])
        self.assert_refused("generate", "--json", "--model", self.plain, text=good, mentions=["chat_template.jinja"])
        self.assert_refused("chat", "--model", self.model, "--temperature", -1, text="a\n", mentions=["temperature"])
        for text, mentions in (('{"messages": []}\n', ["stdin:1", "\"messages\""]),
                               ('{"messages": [{"content": "a"}]}\n', ["stdin:1", "message 1", "role"]),
                               (good + "plain\n", ["stdin:2", "conversations on all lines"])):
            self.assert_refused("generate", "--json", "--model", self.model, text=text, stdout=None, mentions=mentions)
        for template, mentions in (("\n{{ x", ["chat_template.jinja:2"]), ("{{ 1 | nosuch }}", ["chat_template.jinja:1", "nosuch"]),
                                   ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", ["limit"]),
                                   ("{{ raise_exception('not today') }}", ["chat_template.jinja:1", "not today"])):
            model = self.path / "broken"
            shutil.copytree(self.plain, model, dirs_exist_ok=True)
            (model / "chat_template.jinja").write_text(template)
            self.assert_refused("chat", "--model", model, text="a\n", mentions=mentions)
        for config in ("[]", "{", '{"chat_template": 1}', '{"chat_template": [{"name": "a", "template": "b"}]}'):
            model = self.path / "configured"
            shutil.copytree(self.plain, model, dirs_exist_ok=True)
            (model / "tokenizer_config.json").write_text(config)
            self.assert_refused("chat", "--model", model, text="a\n", mentions=["tokenizer_config.json"])


if __name__ == "__main__":
    unittest.main()
