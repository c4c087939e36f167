"""For test scripts that are no unittest: runs the program and returns what it writes, or says how it failed."""

import os
import subprocess


def heed(*arguments, text="", status=0):
    """Its standard output, or where a status is expected its standard error."""
    done = subprocess.run([os.environ["HEED_BINARY"], *map(str, arguments)], input=text, capture_output=True, text=True)
    if done.returncode != status:
        raise RuntimeError(f"heed {' '.join(map(str, arguments))}: {done.returncode}, {done.stderr.strip()}")
    return done.stderr if status else done.stdout
