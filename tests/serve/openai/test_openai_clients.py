"""OpenAI's interface as clients see it that others wrote: npm's openai, LangChain and eventsource-parser, where
install_clients has installed them."""

import os
import pathlib
import shutil
import subprocess
import sys

from heed_server import Server
from openai_api import OpenAiTest, json, unittest

HERE = pathlib.Path(__file__).resolve().parent
CLIENTS = pathlib.Path(os.environ.get("HEED_CLIENTS", HERE.parent.parent.parent / "made" / "clients")).resolve()

if not (CLIENTS / "node_modules" / "openai").is_dir() or shutil.which("node") is None:
    print("skipped: the clients are not there; tests/serve/openai/install_clients installs them")
    sys.exit(77)


class Clients(OpenAiTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        brief = pathlib.Path(cls.text).parent / "brief.toml"
        brief.write_text("[limits]\nmax_tokens = 1000000\nrequest_seconds = 1\n")
        with Server("--config", brief, "--model", f"chat={cls.endless}") as server:
            done = subprocess.run(["node", HERE / "clients.mjs", cls.server.address, server.address], text=True,
                                  capture_output=True, env={**os.environ, "HEED_CLIENTS": str(CLIENTS)}, timeout=120)
        assert done.returncode == 0, done.stderr
        cls.found = json.loads(done.stdout)

    def chat_texts(self, **fields):
        answer = self.answer("/v1/chat/completions", **{
            "model": "chat", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
            "max_tokens": 20, **fields})
        return answer, [choice["message"]["content"] for choice in answer["choices"]]

    @staticmethod
    def counted(usage):
        """Without what depends on what was asked before."""
        return {name: count for name, count in usage.items() if name != "prompt_tokens_details"}

    def test_openai_lists_models(self):
        self.assertEqual(self.found["models"], ["chat", "endless", "reads", "text", "translates"])
        self.assertEqual(self.found["model"], "text")

    def test_openai_completes(self):
        answer = self.answer("/v1/completions", model="text", prompt=["Hello", "Ü"], n=2, temperature=1, seed=3, max_tokens=20)
        texts = [choice["text"] for choice in answer["choices"]]
        self.assertEqual(self.found["completions"], texts)
        self.assertEqual(self.found["streamed_completions"], texts)

    def test_openai_chats(self):
        answer, texts = self.chat_texts(temperature=1, seed=3, n=3)
        self.assertEqual(self.found["chat"], texts)
        self.assertEqual(self.counted(self.found["chat_usage"]), self.counted(answer["usage"]))
        self.assertEqual(self.found["helper_chat"], [[i, "assistant", text, answer["choices"][i]["finish_reason"]]
                                                     for i, text in enumerate(texts)])
        self.assertEqual(self.counted(self.found["helper_usage"]), self.counted(answer["usage"]))

    def test_openai_embeds(self):
        answer = self.answer("/v1/embeddings", model="reads", input=["Hello", "there"])
        rows = [one["embedding"] for one in answer["data"]]
        for name in ("embeddings", "embeddings_float", "langchain_embeddings"):
            self.assertEqual(self.found[name], rows, name)
        self.assertEqual(self.found["langchain_query"], rows[0])

    def test_openai_s_responses(self):
        _, (text,) = self.chat_texts(temperature=0)
        self.assertEqual(self.found["response"], text)
        self.assertEqual(self.found["response_deltas"], text)
        self.assertEqual(self.found["response_helper"], ["incomplete", text])

    def test_openai_s_errors(self):
        bias, model, tools = self.found["errors"]
        self.assertEqual((bias["kind"], bias["status"], bias["param"]), ("BadRequestError", 400, "logit_bias"))
        self.assertEqual((model["kind"], model["status"], model["param"]), ("NotFoundError", 404, "model"))
        self.assertEqual((tools["kind"], tools["status"], tools["param"]), ("BadRequestError", 400, "tools"))

    def test_openai_sees_the_error_in_a_stream(self):
        for error in self.found["late"][:3]:
            self.assertEqual(error["kind"], "APIError")
            self.assertIn("too long", error["message"])
        self.assertEqual((self.found["late"][3]["kind"], self.found["late"][3]["status"]), ("InternalServerError", 504))

    def test_langchain_talks(self):
        answer, (text,) = self.chat_texts(temperature=0)
        self.assertEqual(self.found["langchain"], [text, answer["choices"][0]["finish_reason"],
                                                   answer["usage"]["completion_tokens"]])
        self.assertEqual(self.found["langchain_streamed"], text)
        _, (alone,) = self.chat_texts(temperature=0, messages=[{"role": "user", "content": "Hello"}])
        self.assertEqual(self.found["langchain_batch"], [text, alone])
        completion = self.answer("/v1/completions", model="text", prompt="Hello", temperature=0, max_tokens=20)
        self.assertEqual(self.found["langchain_completion"], completion["choices"][0]["text"])

    def test_langchain_talks_to_responses(self):
        _, (text,) = self.chat_texts(temperature=0)
        self.assertEqual(self.found["langchain_response"], text)
        self.assertEqual(self.found["langchain_response_streamed"], text)

    def test_clients_get_answers_that_match_their_schema(self):
        for name in ("parsed_answer", "langchain_answer"):
            self.assertEqual(set(self.found[name]), {"answer", "sure"}, name)

    def test_a_strict_parser_reads_the_stream(self):
        self.assertEqual(self.found["parse_errors"], [])
        events = self.found["parsed"]
        self.assertEqual(events.pop()["data"], "[DONE]")
        chunks = [json.loads(event["data"]) for event in events]
        self.assertTrue(all("event" not in event and "id" not in event for event in events))
        _, (text,) = self.chat_texts(temperature=1, seed=3)
        self.assertEqual("".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks if chunk["choices"]), text)


if __name__ == "__main__":
    unittest.main()
