#!/usr/bin/env python3
"""heed train as several ranks, started by mpirun: the bits of one process, and what happens when a rank is lost."""

import json
import os
import random
import signal
import subprocess
import time
import unittest

from heed_cli import BINARY, heed
from mpirun import ended, lines_of_heed, rank_processes, skip_without_mpi, start
from test_train import TranslationTest

SHARDS = ("--set", "training.accumulate=2", "--set", "training.shards=4")


class RanksTraining(TranslationTest):
    def job(self, ranks, name, *more):
        return start(ranks, BINARY, "train", self.recipe, "--out", self.path / name, "--threads", "1", *SHARDS, *more)

    def train_on(self, ranks, name, *more):
        status, out, err = ended(self.job(ranks, name, *more))
        self.assertEqual((status, lines_of_heed(err)), (0, []), err)
        return out

    # What the run ended with. An interrupted mpirun may be gone before the ranks that it started.
    def last_event(self, run):
        give_up = time.monotonic() + 30
        while True:
            event = json.loads((run / "metrics.jsonl").read_text().rpartition("\n")[0].splitlines()[-1])
            if event["event"] == "end" or time.monotonic() > give_up:
                return event
            time.sleep(0.1)

    def test_any_number_of_ranks_gives_the_same_bits(self):
        self.train("one", *SHARDS)
        for ranks in (2, 4):
            out = self.train_on(ranks, f"on-{ranks}")
            self.assertIn(f"1 thread on each of {ranks} ranks", out)
            self.assertEqual(out.count("ended by updates"), 1, out)
            self.assertEqual(self.weights(f"on-{ranks}"), self.weights("one"))

    def test_an_adapter_on_quantized_weights_has_the_same_bits_on_any_ranks(self):
        base, small = self.path / "base", self.path / "small"
        self.train("base", "--set", "training.updates=5")
        self.assertEqual(heed("quantize", "--model", base, "--out", small, "--type", "int4").returncode, 0)
        options = ("--set", f"training.from={small}", "--set", "adapter.rank=4", "--set", "training.updates=20")
        self.train("one", *SHARDS, *options)
        for layout in ("data=2", "pipeline=2"):
            self.train_on(2, layout, *options, "--set", f"training.layout={layout}")
            self.assertEqual((self.path / layout / "adapter.safetensors").read_bytes(),
                             (self.path / "one" / "adapter.safetensors").read_bytes(), layout)

    def test_the_first_rank_alone_writes_what_the_ranks_did(self):
        self.train_on(2, "run", "--set", "training.log_every=10")
        events = [json.loads(line) for line in (self.path / "run" / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([event["update"] for event in events if event["event"] == "train"], list(range(10, 61, 10)))
        ranks = [event["ranks"] for event in events if event["event"] == "train"][-1]
        self.assertEqual(len(ranks), 2)
        for rank in ranks:
            self.assertGreater(rank["seconds"], rank["waited"])
            self.assertGreater(rank["sent_bytes"], 0)

    def test_too_many_ranks_are_refused_by_one_line(self):
        status, out, err = ended(start(3, BINARY, "train", self.recipe, "--out", self.path / "run"))
        self.assertEqual((status, out, len(lines_of_heed(err))), (2, "", 1), err)
        self.assertIn("an update has 1 shard, which is too few for 3 ranks: set training.shards to a multiple of 3", err)
        self.assertFalse((self.path / "run").exists())

    def test_ranks_prepare_a_corpus_together(self):
        self.assertEqual(heed("prepare", self.recipe, "--out", self.path / "one").returncode, 0)
        command = (BINARY, "prepare", self.recipe, "--out", self.path / "three")
        status, out, err = ended(start(3, *command))
        self.assertEqual((status, out.count("prepared in"), lines_of_heed(err)), (0, 1, []), err)
        for file in (self.path / "one").iterdir():
            self.assertEqual(file.read_bytes(), (self.path / "three" / file.name).read_bytes(), file.name)
        status, out, err = ended(start(3, *command))
        self.assertEqual((status, out, len(lines_of_heed(err))), (2, "", 1), err)
        self.assertIn("exists already", err)

    def test_a_rank_with_another_recipe_is_named(self):
        same = (BINARY, "train", self.recipe, "--out", self.path / "run", *SHARDS)
        other = (":", "-n", "1", *same, "--set", "schedule.peak=0.001")
        status, out, err = ended(start(1, *same, *other))
        self.assertEqual((status, len(lines_of_heed(err))), (2, 1), err)
        self.assertIn("rank 1 of 2: its recipe differs from the first rank's", err)

    def latest_checkpoint(self, name):
        return max((folder.name for folder in (self.path / name / "checkpoints").glob("update-????????")), default="")

    def test_whichever_rank_is_killed_the_run_resumes_to_the_same_bits(self):
        moments = int(os.environ.get("HEED_KILLS", "5"))
        more = ("--set", f"training.updates={300 * moments}", "--set", "validation.every=500",
                "--set", "checkpoints.every=50")
        self.train("unbroken", *SHARDS, *more)
        draw = random.Random(7)
        kills = 0
        while True:
            resume = ("--resume",) if (self.path / "killed" / "recipe.toml").exists() else ()
            ranks = draw.choice((2, 3, 4))
            before = self.latest_checkpoint("killed")
            job = self.job(ranks, "killed", *more, *resume)
            if kills < moments:
                while self.latest_checkpoint("killed") <= before and job.poll() is None:
                    time.sleep(0.01)
                time.sleep(draw.uniform(0.0, 0.1))
                victim = rank_processes(job).get(draw.randrange(ranks))
                if victim is not None:
                    os.kill(victim, signal.SIGKILL)
                    kills += 1
            began = time.monotonic()
            status, out, err = ended(job)
            if status == 0:
                break
            self.assertLess(time.monotonic() - began, 30)
            self.assertIn("rank", err)
        self.assertEqual(kills, moments)
        self.assertEqual(self.weights("killed"), self.weights("unbroken"))

    def test_an_interrupt_or_a_signal_to_mpirun_saves_a_checkpoint_and_stops(self):
        more = ("--set", "training.updates=100000", "--set", "validation.every=1000")
        for name, number, mpirun in (("interrupted", signal.SIGINT, ("--mca", "odls_base_sigkill_timeout", "3")),
                                     ("signalled", signal.SIGUSR1, ())):
            run = self.path / name
            job = start(2, BINARY, "train", self.recipe, "--out", run, *SHARDS, *more, mpirun=mpirun)
            while not list((run / "checkpoints").glob("update-*[1-9]*")):
                time.sleep(0.05)
            job.send_signal(number)
            status, out, err = ended(job)  # mpirun drops the last lines of a job that it ends itself
            if number == signal.SIGUSR1:
                self.assertEqual(status, 0, err)
                self.assertIn("the same command with --resume continues", out)
            end = self.last_event(run)
            self.assertEqual((end["event"], end["reason"]), ("end", "stopped"), name)
            self.assertTrue((run / "model.safetensors").exists())


del TranslationTest  # its own tests run in test_train.py

if __name__ == "__main__":
    skip_without_mpi()
    unittest.main()
