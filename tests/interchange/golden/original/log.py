"""What happened so far, and what went wrong where."""

import pathlib
import time
import traceback

STARTED = time.time()
LOG = []


def note(text):
    LOG.append(f"{time.time() - STARTED:6.1f} {text}")
    print(LOG[-1], flush=True)


def last_line(error):
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{pathlib.Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__} at {where}: {str(error)[:300]}"
