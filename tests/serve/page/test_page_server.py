"""The page in Chromium, with `heed serve` and small models with random weights behind it."""

import os
import pathlib
import subprocess
import sys
import tempfile

import page_browser
from heed_server import Server

MODELS = {
    "t": [],
    "g": ["architecture=causal-lm", "documents=line"],
    "e": ["architecture=encoder"],
}


def main():
    environment = page_browser.browser()
    with tempfile.TemporaryDirectory() as folder:
        arguments = []
        for name, settings in MODELS.items():
            model = pathlib.Path(folder) / name
            subprocess.run([os.environ["HEED_MAKE_MODEL"], model, *settings], check=True)
            arguments += ["--model", f"{name}={model}"]
        with Server(*arguments) as server:
            return page_browser.run("server_test.mjs", {**environment, "HEED_ADDRESS": server.address})


if __name__ == "__main__":
    sys.exit(main())
