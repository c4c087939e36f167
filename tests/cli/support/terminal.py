"""The program on a terminal of its own."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from heed_cli import BINARY, PATIENCE

PROGRESS = re.compile(r"\r\x1b\[K([^\r\n]*)(?=\r\x1b|\r\n)")


class Terminal:
    """The program's output and errors both go to a terminal of `columns` columns."""

    def __init__(self, *arguments, columns):
        self.text = ""
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen([BINARY, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=theirs,
                                        stderr=theirs, env={**os.environ, "LC_ALL": "C"})
        os.close(theirs)

    def read_until(self, words, seconds=120):
        """Returns what has been written, once that holds `words` or the program has ended."""
        deadline = time.monotonic() + seconds * PATIENCE
        while words is None or words not in self.text:
            if not select.select([self.ours], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"nothing for {seconds} s: {self.text!r}")
            try:
                read = os.read(self.ours, 65536)
            except OSError:  # EIO: nobody has the other side open any more
                read = b""
            if not read:
                break
            self.text += read.decode()
        return self.text

    def read_all(self):
        return self.read_until(None)

    def status(self):
        return self.process.wait(60 * PATIENCE)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
