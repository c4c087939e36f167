#!/usr/bin/env python3
"""Ranks that train independently between outer steps: what they send, and what happens when one does not come back."""

import json
import os
import signal
import time
import unittest

from heed_cli import BINARY
from mpirun import ended, lines_of_heed, rank_processes, skip_without_mpi, start
from test_train import TranslationTest

SHARDS = ("--set", "training.accumulate=2", "--set", "training.shards=4")


def sent_bytes(events):
    return sum(rank["sent_bytes"] for event in events if event["event"] == "train" for rank in event["ranks"])


class LocalUpdates(TranslationTest):
    def job(self, ranks, name, *more, **how):
        return start(ranks, BINARY, "train", self.recipe, "--out", self.path / name, "--threads", "1", *SHARDS, *more,
                     **how)

    def events(self, name):
        return [json.loads(line) for line in (self.path / name / "metrics.jsonl").read_text().splitlines()]

    def test_outer_steps_take_a_small_part_of_the_traffic(self):
        logs = ("--set", "training.log_every=20")
        for name, more in (("each", ()), ("local", ("--set", "training.local_updates=20"))):
            status, _, err = ended(self.job(2, name, *logs, *more))
            self.assertEqual((status, lines_of_heed(err)), (0, []), err)
        each, local = self.events("each"), self.events("local")
        self.assertEqual([event["update"] for event in local if event["event"] == "train"], [20, 40, 60])
        # In f32, a rank sends half of all gradients and half of all weights, in an outer step as well as in an update; and
        # norms at each update, which are something for so small a model.
        ratio = sent_bytes(local) / sent_bytes(each)
        self.assertAlmostEqual(ratio, 1 / 20, delta=0.015)

    # Right after an outer step, so that it is long until the next one.
    def kill_after_an_outer_step(self, job, rank, metrics):
        steps = metrics.read_text().count('"event":"train"') if metrics.exists() else 0
        while not metrics.exists() or metrics.read_text().count('"event":"train"') == steps:
            self.assertIsNone(job.poll())
            time.sleep(0.01)
        time.sleep(0.1)
        os.kill(rank_processes(job)[rank], signal.SIGKILL)

    def test_the_run_goes_on_without_a_rank_that_is_lost_and_with_it_when_it_is_resumed(self):
        more = ("--set", "training.local_updates=1000", "--set", "training.log_every=1000", "--set",
                "validation.every=100000")
        job = self.job(3, "run", *more, "--set", "training.updates=4000", environment={"HEED_RANK_TIMEOUT": "2"},
                       mpirun=("--enable-recovery",))
        self.kill_after_an_outer_step(job, 2, self.path / "run" / "metrics.jsonl")
        _, out, err = ended(job)
        self.assertIn("update 2000: 1 of 3 ranks do not answer; the run goes on with 2", out)
        self.assertEqual(lines_of_heed(err), ["heed: went on without rank 2 of 3, which did not answer"])
        ranks = [len(event["ranks"]) for event in self.events("run") if event["event"] == "train"]
        self.assertEqual(ranks, [3, 2, 2, 2])
        last = sorted((self.path / "run" / "checkpoints").iterdir())[-1]
        self.assertEqual(sorted(file.name for file in last.glob("rank-*")), ["rank-1.safetensors"])
        self.assertTrue((self.path / "run" / "model.safetensors").exists())
        status, _, err = ended(self.job(3, "run", *more, "--resume", "--set", "training.updates=5000"))
        self.assertEqual((status, lines_of_heed(err)), (0, []), err)
        self.assertEqual(self.events("run")[-1]["update"], 5000)

    def test_settings_that_make_no_sense_are_refused(self):
        for setting, why in (("training.local_updates=-1", "training.local_updates is -1, expected at least 0"),
                             ("training.outer_rate=0", "training.outer_rate is 0, expected above 0 and at most 2"),
                             ("training.outer_momentum=1", "training.outer_momentum is 1, expected at least 0")):
            status, _, err = ended(self.job(2, "refused", "--set", setting))
            self.assertEqual((status, len(lines_of_heed(err))), (2, 1), err)
            self.assertIn(why, err)


del TranslationTest  # its own tests run in test_train.py

if __name__ == "__main__":
    skip_without_mpi()
    unittest.main()
