"""What models compute, and what `generate` makes of it."""

import math

import torch
from exact import Exact
from log import last_line


def tensor(ids):
    return torch.tensor([ids], dtype=torch.long)


def outputs_of(model, kind, case):
    """{name: rows} of a case {"ids", "types"} or {"source", "target"}."""
    if kind == "encoder-decoder":
        out = model(input_ids=tensor(case["source"]), attention_mask=torch.ones(1, len(case["source"]),
                                                                                dtype=torch.long),
                    decoder_input_ids=tensor(case["target"]), use_cache=False)
        return {"memory": out.encoder_last_hidden_state[0], "logits": out.logits[0]}
    arguments = {"input_ids": tensor(case["ids"]), "attention_mask": torch.ones(1, len(case["ids"]), dtype=torch.long)}
    if "types" in case:
        arguments["token_type_ids"] = tensor(case["types"])
    if kind == "decoder":
        arguments["use_cache"] = False
    out = model(**arguments)
    for name in ("logits", "prediction_logits"):
        value = getattr(out, name, None)
        if value is not None:
            return {"logits": value[0] if value.dim() == 3 else value}
    result = {"hidden": out.last_hidden_state[0]}
    if getattr(out, "pooler_output", None) is not None:
        result["pooled"] = out.pooler_output
    return result


def difference(a, b):
    """Of the largest absolute value of b."""
    a, b = torch.as_tensor(a, dtype=torch.float64), torch.as_tensor(b, dtype=torch.float64)
    if a.numel() != b.numel():
        return math.inf
    return float((a.reshape(-1) - b.reshape(-1)).abs().max() / b.abs().max().clamp_min(1e-300))


def rounded(value, digits=10):
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    return [rounded(v, digits) for v in value] if isinstance(value, (list, tuple)) else value


def in_part(outputs):
    """Some of many long rows of logits; their numbers are the case's "rows"."""
    rows = outputs["logits"].shape[0] if "logits" in outputs and outputs["logits"].dim() == 2 else 0
    if rows <= 6:
        return {name: rounded(value) for name, value in outputs.items()}
    kept = sorted({round(i * (rows - 1) / 5) for i in range(6)})
    return {"rows": kept, **{name: rounded(value[kept] if name == "logits" else value)
                             for name, value in outputs.items()}}


def ends_of(model):
    end = model.generation_config.eos_token_id
    return set(end) if isinstance(end, (list, tuple)) else {end}


def cut(ids, ends):
    """Up to the first end token, which is part of it."""
    for i, token in enumerate(ids):
        if token in ends:
            return ids[:i + 1]
    return ids


def continued(model, ids, **settings):
    """[(new tokens, score or None)] as `generate` gives them."""
    start = len(ids) if not model.config.is_encoder_decoder else 1
    with Exact():
        out = model.generate(tensor(ids), attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                             return_dict_in_generate=True, output_scores=True, **settings)
    scores = getattr(out, "sequences_scores", None)
    rows = [cut(row[start:], ends_of(model)) for row in out.sequences.tolist()]
    return [(row, None if scores is None else float(scores[i])) for i, row in enumerate(rows)]


def beam_settings():
    result = []
    for penalty, kinds in ((0.6, (False, "never")), (1.0, (False, True, "never")), (2.0, (False, True, "never"))):
        for early in kinds:
            result.append({"num_beams": 4, "length_penalty": penalty, "early_stopping": early})
    result += [
        {"num_beams": 4, "length_penalty": 1.0, "early_stopping": True, "no_repeat_ngram_size": 2},
        {"num_beams": 3, "length_penalty": 1.0, "early_stopping": False, "repetition_penalty": 1.3},
        {"num_beams": 4, "length_penalty": 0.0, "early_stopping": False},
        {"num_beams": 2, "length_penalty": 1.0, "early_stopping": False, "min_length": 6},
    ]
    return result


def beams_of(model, ids, settings, limit):
    rows = []
    for one in settings:
        one = {**one, **limit}
        try:
            found = continued(model, ids, do_sample=False, num_return_sequences=one.get("num_beams", 1), **one)
            rows.append({"settings": one, "hypotheses": [{"tokens": t, "score": rounded(s)} for t, s in found]})
        except Exception as error:
            rows.append({"settings": one, "error": last_line(error)})
    return rows
