"""Greedy and beam decoding as the original library's `generate` does them, one sequence at a time, without a cache."""

import math

import torch

# A step's best token must lead the second by this much in log-probability, so that f32 cannot choose another.
CLEAR = 2e-3


class Unclear(Exception):
    """Two tokens or two hypotheses are too close for a golden value, or the tokens say too little."""


def processed(logits, c, ids, written, limit):
    """Log-probabilities after the rules of the configuration: tokens that are there already count by the penalty, banned
    words, forced first and last tokens."""
    scores, length = logits.log_softmax(-1), len(ids)
    penalty = c.get("repetition_penalty")
    if penalty:
        seen = torch.tensor(sorted(set(ids)))
        scores[seen] = scores[seen] * penalty
    for banned in c.get("bad_words_ids") or []:
        if ids[length - len(banned) + 1:] == banned[:-1]:
            scores[banned[-1]] = -math.inf
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
        scores = processed(logits_of(ids), c, ids, len(ids) - len(start), len(start) + new_tokens)
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


def beam(logits_of, c, start, beams, limit, penalty, stops=("going on", "any")):
    """The best ended hypothesis: its tokens after `start`, the sum of its scores, and that over length^penalty.

    It is the same whether the search stops by the best that goes on (transformers since 4.50) or by the best candidate
    of a step, ended or not (before), and whether a candidate that ends must be among the first `beams` of its step
    (transformers) or not. `stops` may have more rules: "count" stops when there are `beams` finished hypotheses.
    """
    steps = {}

    def remembered(ids):
        if tuple(ids) not in steps:
            steps[tuple(ids)] = logits_of(ids)
        return steps[tuple(ids)].clone()

    results = [beam_search(remembered, c, start, beams, limit, penalty, stop, ending)
               for stop in stops for ending in (beams, 2 * beams)]
    if any(result[0] != results[0][0] for result in results):
        raise Unclear
    return results[0]


def beam_search(logits_of, c, start, beams, limit, penalty, stop, ending):
    """Each step takes the best continuations of all living hypotheses. Those that end, among the first `ending`, are
    finished; the first `beams` others go on. With `beams` finished ones, the search stops when the best of what `stop`
    says, at the present length, is not better than the worst of them."""
    living, finished = [(0.0, list(start))], []
    while True:
        found = []
        for total, ids in living:
            scores = processed(logits_of(ids), c, ids, len(ids) - len(start), limit)
            found += [(total + float(s), ids + [t]) for t, s in enumerate(scores) if s > -math.inf]
        found.sort(key=lambda pair: -pair[0])
        enders = [ids[-1] in ends(c) for _, ids in found[:2 * beams]]
        if any(enders) and len(found) > ending and found[ending - 1][0] - found[ending][0] < CLEAR:
            raise Unclear
        length = len(found[0][1]) - len(start)
        finished += [(total / length ** penalty, total, ids)
                     for (total, ids), last in zip(found[:ending], enders) if last]
        finished = sorted(finished, key=lambda entry: -entry[0])[:beams]
        going_on = [entry for entry in found if entry[1][-1] not in ends(c)]
        living = going_on[:beams]
        if len(going_on) > beams and going_on[beams - 1][0] - going_on[beams][0] < CLEAR:
            raise Unclear
        if not living or len(found[0][1]) >= limit:
            break
        best = {"going on": living[0][0], "any": found[0][0], "count": -math.inf}[stop]
        if len(finished) == beams and finished[-1][0] >= best / length ** penalty:
            break
    if not finished or len(finished) > 1 and finished[0][0] - finished[1][0] < CLEAR:
        raise Unclear
    score, total, ids = finished[0]
    return ids[len(start):], total, score


def last_row(logits):
    return torch.as_tensor(logits)[-1].clone()
