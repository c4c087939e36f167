"""What the tests of several ranks share: how mpirun starts them, and how to find and read them."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys

from heed_cli import BINARY, PATIENCE

ACTIONS = os.environ.get("HEED_RANK_ACTIONS", "")
PLUGIN = pathlib.Path(BINARY).parent / "libheed_mpi.so"
MPIRUN = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none"]


def start(ranks, *words, environment=None, mpirun=()):
    return subprocess.Popen([*MPIRUN, *mpirun, "-n", str(ranks), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, text=True,
                            env={**os.environ, "LC_ALL": "C", "HEED_MPI": str(PLUGIN), **(environment or {})})


class UnknownStatus:
    """Equal to every status, and to none."""

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return True


def status_of(job, err):
    """mpirun's, which has that of the ranks. Debian's sometimes crashes as it ends, when all ranks have ended: then it
    is not known."""
    crashed = job.returncode == -signal.SIGSEGV and "PMIx_server_finalize" in err
    return UnknownStatus() if crashed else job.returncode


def ended(job, timeout=100):
    try:
        out, err = job.communicate(timeout=timeout * PATIENCE)
    except subprocess.TimeoutExpired:
        job.terminate()
        raise
    return status_of(job, err), out, err


def lines_of_heed(err):
    return [line for line in err.splitlines() if line.startswith("heed: ")]


def rank_processes(job):
    """The processes of a job by rank, once all have come into their actions."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
        if parent == job.pid:
            for entry in environment:
                if entry.startswith(b"OMPI_COMM_WORLD_RANK="):
                    found[int(entry.split(b"=")[1])] = int(folder.name)
    return found


def require_actions():
    """Ranks of a program that is missing would be waited for until time is over."""
    if not os.access(ACTIONS, os.X_OK):
        sys.exit(f"HEED_RANK_ACTIONS is \"{ACTIONS}\", which is not a program: build heed_rank_actions")


def skip_without_mpi():
    if shutil.which("mpirun") is None or not PLUGIN.exists():
        print("skipped: mpirun or heed's MPI part is missing")
        sys.exit(77)
