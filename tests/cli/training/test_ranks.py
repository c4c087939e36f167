#!/usr/bin/env python3
"""Several ranks, started by Open MPI's mpirun: what they exchange, and how a job ends when something breaks."""

import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from heed_cli import BINARY, CliTest
from mpirun import ACTIONS, PLUGIN, ended, lines_of_heed, rank_processes, require_actions, skip_without_mpi, start

class RanksTest(CliTest):
    def assert_job(self, job, line, timeout=100):
        """Status 2 and one line from heed."""
        status, out, err = ended(job, timeout)
        self.assertEqual((status, lines_of_heed(err)), (2, [line]), err)

    def started(self, ranks, *words, **options):
        """A job all of whose ranks have said their first line."""
        job = start(ranks, *words, **options)
        for _ in range(ranks):
            job.stdout.readline()
        processes = rank_processes(job)
        self.assertEqual(sorted(processes), list(range(ranks)))
        return job, processes

    def test_messages_arrive_whole_and_in_order(self):
        for ranks in (2, 3, 4):
            status, out, err = ended(start(ranks, ACTIONS, "exchange"))
            self.assertEqual((status, err), (0, ""))
            squares = "".join(f"{rank * rank} " for rank in range(ranks))
            self.assertEqual(sorted(line for line in out.splitlines() if ":" in line), [f"{rank}: {squares}" for rank in range(ranks)])

    def test_messages_larger_than_an_int_counts_arrive(self):
        for sharing in ("off", "on"):
            status, out, err = ended(start(2, ACTIONS, "transfer", "1500", environment={"HEED_SHARED_MEMORY": sharing}))
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(out.count("MB/s"), 2)

    def test_an_unknown_value_of_heed_shared_memory_is_refused(self):
        self.assert_job(start(2, BINARY, "--version", environment={"HEED_SHARED_MEMORY": "maybe"}),
                        'heed: HEED_SHARED_MEMORY: expected on or off, found "maybe"')

    def test_one_rank_loads_no_mpi(self):
        status, out, err = ended(start(1, BINARY, "--version", environment={"HEED_MPI": "/nowhere"}))
        self.assertEqual((status, err), (0, ""))

    def test_the_program_does_not_link_mpi(self):
        needed = subprocess.run(["readelf", "--dynamic", BINARY], capture_output=True, text=True).stdout
        self.assertIn("NEEDED", needed)
        self.assertNotIn("libmpi", needed)

    def test_ranks_share_the_processors_of_their_machine(self):
        status, out, err = ended(start(2, ACTIONS, "meet", "0"))
        processors = max(1, len(os.sched_getaffinity(0)) // 2)
        self.assertEqual(sorted(out.splitlines()), [f"{rank} of 2 has {processors} processors" for rank in range(2)])

    def test_a_plugin_that_is_missing_is_named_once(self):
        self.assert_job(start(2, BINARY, "--version", environment={"HEED_MPI": str(self.path / "none.so")}),
                        f"heed: ranks: mpirun started 2 ranks, but heed's MPI part is missing: {self.path}/none.so is not there; build "
                        "heed where Open MPI is installed (Debian's package is libopenmpi-dev), or name the file in HEED_MPI")

    def test_a_program_without_the_plugin_beside_it_says_where_it_looked(self):
        folder = self.path / "bin"
        folder.mkdir()
        shutil.copy(BINARY, folder / "heed")
        status, out, err = ended(start(2, folder / "heed", "--version", environment={"HEED_MPI": ""}))
        self.assertEqual((status, out, len(lines_of_heed(err))), (2, "", 1), err)
        self.assertIn(f"neither {folder}/libheed_mpi.so nor {self.path}/lib/heed/libheed_mpi.so is there", err)

    def test_an_installed_program_finds_the_plugin(self):
        for folder in ("bin", "lib/heed"):
            (self.path / folder).mkdir(parents=True)
        shutil.copy(BINARY, self.path / "bin" / "heed")
        shutil.copy(PLUGIN, self.path / "lib/heed")
        status, out, err = ended(start(2, self.path / "bin" / "heed", "--version", environment={"HEED_MPI": ""}))
        self.assertEqual((status, err), (0, ""))

    def test_a_plugin_that_cannot_be_loaded_says_why(self):
        broken = self.file("broken.so", "not a library")
        status, out, err = ended(start(2, BINARY, "--version", environment={"HEED_MPI": str(broken)}))
        self.assertEqual((status, out, len(lines_of_heed(err))), (2, "", 1), err)
        self.assertIn(f"cannot be loaded: {broken}: ", err)

    def test_ranks_that_open_mpi_does_not_see_as_one_job_are_refused(self):
        environment = {"HEED_MPI": str(PLUGIN), "PMI_SIZE": "2", "PMI_RANK": "0"}
        refusal = self.assert_refused("--version", environment=environment)
        self.assertIn("a launcher that is not Open MPI's started 2 processes, but Open MPI counts 1", refusal)

    def test_another_build_is_refused(self):
        other = self.path / "heed"
        other.write_bytes(pathlib.Path(BINARY).read_bytes() + b"\0")
        other.chmod(0o755)
        status, out, err = ended(start(1, BINARY, "--version", ":", "-n", "1", other, "--version"))
        self.assertEqual((status, out, len(lines_of_heed(err))), (2, "", 1), err)
        self.assertRegex(err, "heed: rank 1 of 2: is heed .* of build .*, but rank 0 is heed .*: all ranks must run the same build")

    def test_the_same_error_on_all_ranks_is_printed_once(self):
        for ranks in (2, 4):
            self.assert_job(start(ranks, ACTIONS, "all-fail"), "heed: text.de: line 7 is broken")

    def test_an_error_on_one_rank_names_it(self):
        self.assert_job(start(2, ACTIONS, "one-fails", "1"), "heed: rank 1 of 2: text.de: line 7 is broken")
        self.assert_job(start(4, ACTIONS, "one-fails", "2"), "heed: rank 2 of 4: text.de: line 7 is broken")
        self.assert_job(start(4, ACTIONS, "one-fails", "0"), "heed: text.de: line 7 is broken")

    def test_an_error_ends_ranks_that_compute(self):
        for failing, prefix in ((1, "rank 1 of 2: "), (0, "")):
            began = time.monotonic()
            self.assert_job(start(2, ACTIONS, "one-fails-while-all-compute", failing), f"heed: {prefix}text.de: line 7 is broken")
            self.assertLess(time.monotonic() - began, 30)

    def test_an_error_while_messages_are_under_way_ends_all(self):
        for failing, prefix in ((1, "rank 1 of 2: "), (0, "")):
            self.assert_job(start(2, ACTIONS, "one-fails-with-messages-under-way", failing), f"heed: {prefix}text.de: line 7 is broken", 40)

    def test_a_rank_that_computes_for_long_is_waited_for(self):
        status, out, err = ended(start(2, ACTIONS, "first-computes", "4", environment={"HEED_RANK_TIMEOUT": "1"}))
        self.assertEqual((status, err), (0, ""))

    def test_a_stopped_rank_is_named_by_the_others(self):
        for ranks, stopped in ((2, 1), (4, 2), (4, 0), (2, 0)):
            job, processes = self.started(ranks, ACTIONS, "meet", "100", environment={"HEED_RANK_TIMEOUT": "3"})
            os.kill(processes[stopped], signal.SIGSTOP)
            began = time.monotonic()
            self.assert_job(job, f"heed: rank {stopped} of {ranks}: has not answered for 3 s", 60)
            self.assertLess(time.monotonic() - began, 30)

    def test_a_killed_rank_ends_the_job_and_is_named(self):
        for ranks, killed, action in ((2, 0, "meet"), (2, 1, "meet"), (4, 2, "meet"), (3, 1, "share"), (3, 0, "share")):
            job, processes = self.started(ranks, ACTIONS, action, "600")
            os.kill(processes[killed], signal.SIGKILL)
            began = time.monotonic()
            status, out, err = ended(job)
            self.assertLess(time.monotonic() - began, 30)
            self.assertNotEqual(status, 0)
            self.assertIn(f"process rank {killed} with PID", err)
            self.assertEqual(lines_of_heed(err), [f"heed: rank {killed} of {ranks}: process {processes[killed]} has ended: it was "
                                                  "killed, or crashed"], err)

    def test_a_job_that_is_told_to_end_names_no_rank(self):
        job, processes = self.started(3, ACTIONS, "meet", "600")
        os.kill(job.pid, signal.SIGTERM)
        status, out, err = ended(job)
        self.assertNotEqual(status, 0)
        self.assertEqual(lines_of_heed(err), [], err)

    def test_work_of_a_rank_that_is_stopped_is_done_by_others(self):
        expected = [f"result {number}" for number in range(60)]
        for lost in (1, 2):
            job, processes = self.started(3, ACTIONS, "share", "60", environment={"HEED_RANK_TIMEOUT": "2"})
            os.kill(processes[lost], signal.SIGSTOP)
            status, out, err = ended(job)
            self.assertEqual((status, lines_of_heed(err)), (0, [f"heed: went on without rank {lost} of 3, which did not answer"]), err)
            self.assertEqual([line for line in out.splitlines() if line.startswith("result")], expected)

    def test_with_recovery_work_of_a_killed_rank_is_done_by_others(self):
        job, processes = self.started(2, ACTIONS, "share", "60", environment={"HEED_RANK_TIMEOUT": "2"}, mpirun=["--enable-recovery"])
        os.kill(processes[1], signal.SIGKILL)
        status, out, err = ended(job)
        self.assertEqual((status, lines_of_heed(err)), (0, ["heed: went on without rank 1 of 2, which did not answer"]), err)
        self.assertEqual([line for line in out.splitlines() if line.startswith("result")], [f"result {number}" for number in range(60)])

    def test_work_of_the_first_rank_cannot_be_done_by_others(self):
        job, processes = self.started(3, ACTIONS, "share", "600", environment={"HEED_RANK_TIMEOUT": "2"})
        os.kill(processes[0], signal.SIGSTOP)
        self.assert_job(job, "heed: rank 0 of 3: has not answered for 2 s", 60)

    def test_a_time_that_makes_no_sense_is_refused(self):
        self.assert_job(start(2, BINARY, "--version", environment={"HEED_RANK_TIMEOUT": "soon"}),
                        'heed: HEED_RANK_TIMEOUT: expected seconds, at least 0.5, found "soon"')


if __name__ == "__main__":
    skip_without_mpi()
    require_actions()
    unittest.main()
