"""The page in Chromium, with a stand-in for the server."""

import sys

import page_browser

if __name__ == "__main__":
    sys.exit(page_browser.run("page_test.mjs", page_browser.browser()))
