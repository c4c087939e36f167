"""Greedy and beam decoding as the original library's `generate` does them, one sequence at a time, without a cache."""

import math

import torch

# A step's best token must lead the second by this much in log-probability, so that f32 cannot choose another.
CLEAR = 2e-3


class Unclear(Exception):
    """Two tokens or two hypotheses are too close for a golden value, or the tokens say too little."""


def processed(logits, c, written, length, limit):
    """Log-probabilities after the rules of the configuration: banned words, forced first and last tokens."""
    scores = logits.log_softmax(-1)
    for banned in c.get("bad_words_ids") or []:
        if len(banned) == 1:
            scores[banned[0]] = -math.inf
    forced = None
    if written == 0:
        forced = c.get("forced_bos_token_id")
    if length == limit - 1:
        forced = c.get("forced_eos_token_id") if c.get("forced_eos_token_id") is not None else forced
    if forced is not None:
        scores[:] = -math.inf
        scores[forced] = 0.0
    return scores


def ends(c):
    end = c.get("eos_token_id")
    return set(end) if isinstance(end, list) else {end}


def greedy(logits_of, c, start, new_tokens):
    """The tokens after `start`, up to an end token, which is part of them."""
    ids = list(start)
    while len(ids) - len(start) < new_tokens:
        scores = processed(logits_of(ids), c, len(ids) - len(start), len(ids), len(start) + new_tokens)
        best = scores.topk(2)
        if best.values[0] - best.values[1] < CLEAR:
            raise Unclear
        ids.append(int(best.indices[0]))
        if ids[-1] in ends(c):
            break
    written = ids[len(start):]
    if len(set(written)) < 3:
        raise Unclear
    return written


def beam(logits_of, c, start, beams, limit, penalty):
    """The best ended hypothesis: its tokens after `start`, the sum of its scores, and that over length^penalty.

    Each step takes the 2 · beams best continuations; those that end, among the first `beams`, are finished; the first
    `beams` others go on. The search stops when the best living hypothesis, at its present length, is not better than
    the worst of `beams` finished ones (early_stopping is false).
    """
    living, finished = [(0.0, list(start))], []
    while True:
        found = []
        for total, ids in living:
            scores = processed(logits_of(ids), c, len(ids) - len(start), len(ids), limit)
            found += [(total + float(s), ids + [t]) for t, s in enumerate(scores) if s > -math.inf]
        found.sort(key=lambda pair: -pair[0])
        enders = [ids[-1] in ends(c) for _, ids in found[:2 * beams]]
        if any(enders) and len(found) > beams and found[beams - 1][0] - found[beams][0] < CLEAR:
            raise Unclear
        finished += [(total / (len(ids) - len(start)) ** penalty, total, ids)
                     for (total, ids), last in zip(found[:beams], enders) if last]
        going_on = [entry for entry in found if entry[1][-1] not in ends(c)]
        living = going_on[:beams]
        if len(going_on) > beams and going_on[beams - 1][0] - going_on[beams][0] < CLEAR:
            raise Unclear
        finished.sort(key=lambda entry: -entry[0])
        finished = finished[:beams]
        length = len(found[0][1]) - len(start)
        if not living or len(found[0][1]) >= limit:
            break
        if len(finished) == beams and finished[-1][0] >= living[0][0] / length ** penalty:
            break
    if not finished or len(finished) > 1 and finished[0][0] - finished[1][0] < CLEAR:
        raise Unclear
    score, total, ids = finished[0]
    return ids[len(start):], total, score


def last_row(logits):
    return torch.as_tensor(logits)[-1].clone()
