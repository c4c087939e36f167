"""Runs llama.cpp's runtime, which bench/peers/install_llama_cpp installs, on GGUF files."""

import json
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(os.environ.get("HEED_LLAMA_CPP", HERE.parent.parent / "made" / "llama.cpp")).resolve()
INSTALL = "bench/peers/install_llama_cpp installs it"


def is_installed():
    return (FOLDER / "node_modules" / "node-llama-cpp").is_dir() and (FOLDER / "pin_threads.so").is_file()


def version():
    info = FOLDER / "node_modules" / "node-llama-cpp" / "llama" / "llama.cpp.info.json"
    return json.loads(info.read_text())["tag"]


def ask(model, command, requests, threads=1, cache="f16"):
    """The answers of llama_cpp.mjs, one for each request."""
    environment = {**os.environ, "HEED_LLAMA_CPP": str(FOLDER), "LD_PRELOAD": str(FOLDER / "pin_threads.so")}
    done = subprocess.run(
        ["node", str(HERE / "llama_cpp.mjs"), str(model), command, f"threads={threads}", f"cache={cache}"],
        input="".join(json.dumps(request) + "\n" for request in requests), capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"llama.cpp: {command} of {model} ended with {done.returncode}: {done.stderr.strip()}")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(requests), done.stderr
    return answers
