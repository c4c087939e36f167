"""The page of the server in Chromium, by the npm packages playwright-core and axe-core.

They are looked for in $HEED_NODE_PACKAGES, a folder where `npm install playwright-core axe-core` was run. Without them,
without Node or without Chromium (Debian's package chromium) the test is skipped.
"""

import os
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
HERE = pathlib.Path(__file__).parent


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def main():
    packages = pathlib.Path(os.environ.get("HEED_NODE_PACKAGES", ""))
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if shutil.which("node") is None:
        skip("node is not installed (package nodejs)")
    if chromium is None:
        skip("Chromium is not installed (package chromium)")
    for package in ("playwright-core", "axe-core"):
        if not (packages / "node_modules" / package).is_dir():
            skip(f"HEED_NODE_PACKAGES names no folder with node_modules/{package}")
    environment = dict(os.environ, HEED_NODE_PACKAGES=str(packages.resolve()), HEED_CHROMIUM=chromium)
    names = sys.argv[1:] or ["page_test.mjs"]
    sys.exit(subprocess.run(["node", "--test-reporter=tap", "--test", *[HERE / name for name in names]], env=environment).returncode)


if __name__ == "__main__":
    main()
