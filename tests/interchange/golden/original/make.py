#!/usr/bin/env python3
"""make.py [--existing DIR] [--out FILE.tar.gz] [--only NAME ...]: small random models by the original libraries.

Of those that it makes, this folder keeps what adds to the others: not every family's every head, and each tokenizer's
older files where heed reads them.

Needs transformers 5, tokenizers, sentencepiece, sentence-transformers and PyTorch; no network. Each model is a folder
GROUP/NAME of the archive as save_pretrained writes it, with golden.json (what the model computes in double: logits,
hidden states, greedy and beam continuations) and texts.json (what its tokenizer makes of texts). `--existing` checks
the models of another folder, made from published definitions, against the original library: existing.json.

The library computes norms, softmax and angles in f32 even in a model of doubles. For golden values it runs with
torch.float32 standing for torch.float64 (class Exact); how much that changes is in golden.json as "by_f32".
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import shutil
import tarfile
import time
import traceback

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_DATASETS_OFFLINE="1", TOKENIZERS_PARALLELISM="false",
                  HF_HOME="/tmp/original_golden_home", TRANSFORMERS_VERBOSITY="error", CUDA_VISIBLE_DEVICES="",
                  HF_HUB_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_PROGRESS_BARS="1")

import tokenizers as tk  # noqa: E402
import torch  # noqa: E402
import transformers as tf  # noqa: E402
from existing import check_one_existing, summary_of  # noqa: E402
from families import FAMILIES  # noqa: E402
from log import LOG, STARTED, last_line, note  # noqa: E402
from models import make  # noqa: E402
from sentences import sentence  # noqa: E402

torch.set_num_threads(1)
torch.set_grad_enabled(False)

OUT = pathlib.Path("/tmp/original_golden")
SENTENCES_MODELS = {
    "sentence-mean": ("bert", "mean", {"query": "find: ", "document": ""}, False, True),
    "sentence-dense": ("distilbert", "cls", {}, True, False),
    "sentence-max": ("mpnet", "max", {}, False, True),
    "sentence-xlm": ("xlm-roberta", "mean", {"query": "query: ", "passage": "passage: "}, False, True),
}


def task(job):
    """(what, name, its log, its failure or None, its result or None); `job` is (what, name)."""
    what, name = job
    LOG.clear()
    failure = result = None
    # A setting of the thread, which a process that was forked from another thread lacks.
    torch.set_grad_enabled(False)
    try:
        if what == "family":
            make(next(one for one in FAMILIES if f"{one.group}/{one.name}" == name), OUT)
        elif what == "sentence":
            source, pooling, prompts, dense, normalized = SENTENCES_MODELS[name]
            sentence(name, source, OUT, pooling, prompts, dense, normalized)
        else:
            result = check_one_existing(pathlib.Path(name))
    except BaseException as error:
        failure = traceback.format_exc()[-3000:]
        note(f"FAILED {name}: {last_line(error)}")
    return what, name, list(LOG), failure, result


def drop_repeated_texts():
    """Of models with the same tokenizer files the first keeps texts.json and the older files."""
    seen = set()
    for folder in sorted(path.parent for path in OUT.glob("*/*/texts.json")):
        files = [folder / name for name in ("tokenizer.json", "vocab.json", "source.spm", "sentencepiece.bpe.model")]
        content = b"".join(path.read_bytes() for path in files if path.exists())
        kind = json.loads((folder / "tokenizer_config.json").read_text()).get("tokenizer_class")
        if (content, kind) in seen:
            (folder / "texts.json").unlink()
            shutil.rmtree(folder / "old", ignore_errors=True)
        seen.add((content, kind))


def run_all(jobs, processes):
    """The results of all jobs; a job that hangs or dies does not affect the others."""
    if processes < 2:
        return [task(job) for job in jobs]
    results = []
    with multiprocessing.get_context("fork").Pool(processes, maxtasksperchild=8) as pool:
        waiting = [(job, pool.apply_async(task, (job,))) for job in jobs]
        until = time.time() + 240
        for job, one in waiting:
            try:
                results.append(one.get(timeout=max(1.0, until - time.time())))
            except BaseException as error:
                results.append((*job, [f"FAILED {job[1]}: {error!r}"], repr(error), None))
        pool.terminate()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--existing", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("/tmp/original_golden.tar.gz"))
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--processes", type=int, default=min(12, os.cpu_count() or 1))
    arguments = parser.parse_args()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    log = [f"transformers {tf.__version__}, tokenizers {tk.__version__}, torch {torch.__version__}"]
    jobs = [("family", f"{one.group}/{one.name}") for one in FAMILIES]
    # The slow ones first.
    jobs.sort(key=lambda job: "encoder_decoders" not in job[1])
    later = [("sentence", name) for name in SENTENCES_MODELS]
    if arguments.existing:
        later += [("existing", str(path.parent)) for path in sorted(arguments.existing.glob("*/*/config.json"))
                  if "original" not in path.parts[len(arguments.existing.parts):]
                  and (path.parent / "golden.json").exists()]
    if arguments.only:
        jobs, later = ([j for j in part if j[1].split("/")[-1] in arguments.only] for part in (jobs, later))
    failures, existing = {}, {}
    for part in (jobs, later):
        for what, name, lines, failure, result in run_all(part, arguments.processes):
            log += lines
            if failure:
                failures[name] = failure
            if what == "existing" and result is not None:
                short = "/".join(pathlib.Path(name).parts[-2:])
                existing[short] = result
                log.append(summary_of(short, result))
    log.append(f"{len(jobs) + len(SENTENCES_MODELS)} models, {len(existing)} existing ones, {len(failures)} failures, "
               f"{time.time() - STARTED:.0f} s")
    drop_repeated_texts()
    (OUT / "existing.json").write_text(json.dumps(existing, indent=1, ensure_ascii=False))
    (OUT / "failures.json").write_text(json.dumps(failures, indent=1, ensure_ascii=False))
    (OUT / "log.txt").write_text("\n".join(log) + "\n")
    with tarfile.open(arguments.out, "w:gz") as archive:
        archive.add(OUT, arcname="original")
    print("\n".join(line for line in log if "FAILED" in line or line.startswith(("existing", "transformers"))))
    print(log[-1])
    print(f"{arguments.out}: {arguments.out.stat().st_size >> 10} KiB")


if __name__ == "__main__":
    main()
