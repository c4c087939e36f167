"""Models with random weights, saved by the library, and golden.json of what they compute."""

import contextlib
import copy
import json
import math
import shutil

import numpy as np
import tokenizers as tk
import torch
import transformers as tf
from corpus import MODEL_TEXTS, TEXTS
from exact import Exact, eager, exact_model
from log import note
from running import beam_settings, beams_of, continued, difference, in_part, outputs_of
from tokenizer_files import described


def randomize(model, config, seed, keep_pad_zero):
    generator = torch.Generator().manual_seed(seed)
    unit = "gemma" in config.model_type

    def normal(shape, scale):
        return torch.randn(shape, generator=generator) * scale

    for name, value in list(model.named_parameters()) + list(model.named_buffers()):
        last = name.split(".")[-1]
        if "embed_positions" in name and config.model_type in ("marian", "pegasus", "m2m_100"):
            continue
        if last == "final_logits_bias":
            value.copy_(normal(value.shape, 0.5))
            continue
        if not isinstance(value, torch.nn.Parameter):
            continue
        lower = name.lower()
        if value.dim() == 1 and last == "weight":
            value.copy_(normal(value.shape, 0.3) + (0.0 if unit else 1.0))
        elif value.dim() == 1:
            value.copy_(normal(value.shape, 0.3))
        elif "embed" in lower or "wte" in lower or "wpe" in lower or "shared" in lower or "relative" in lower:
            value.copy_(normal(value.shape, 0.5))
        else:
            value.copy_(normal(value.shape, 1.2 / math.sqrt(min(value.shape[-2:]))))
    if keep_pad_zero:
        for module in model.modules():
            if isinstance(module, torch.nn.Embedding) and module.padding_idx is not None \
                    and "Sinusoidal" not in type(module).__name__:
                module.weight[module.padding_idx] = 0.0


def louder_end(model, config):
    """Ends are as likely as a random model allows, so that hypotheses have several lengths."""
    end = config.eos_token_id
    for one in end if isinstance(end, (list, tuple)) else [end]:
        if getattr(model, "final_logits_bias", None) is not None:
            model.final_logits_bias[0, one] += 1.5
        else:
            model.get_output_embeddings().weight[one] *= 1.8


KINDS = {"decoders": "decoder", "encoder_decoders": "encoder-decoder", "encoders": "encoder"}


def token_id(tokenizer, value):
    if isinstance(value, str):
        found = tokenizer.convert_tokens_to_ids(value)
        if found is None or found == tokenizer.unk_token_id and value != tokenizer.unk_token:
            raise ValueError(f"no token {value}")
        return found
    return value


def special_ids(tokenizer):
    result = {}
    for role in ("bos", "eos", "pad"):
        found = getattr(tokenizer, f"{role}_token_id", None)
        result[f"{role}_token_id"] = found
    return result


def generation_of(one, tokenizer, config):
    values = {}
    for key, value in (one.generation or {}).items():
        if key == "bad_words_ids":
            value = [[token_id(tokenizer, v)] for v in value]
        elif key.endswith("token_id"):
            value = token_id(tokenizer, value)
        values[key] = value
    for key in ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id"):
        value = getattr(config, key, None)
        if value is not None:
            values.setdefault(key, value)
    return tf.GenerationConfig(**values)


def build(one, out):
    """The saved folder, its model of doubles by the library and one that is exact, and the tokenizer."""
    folder = out / one.group / one.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tokenizer, old_files = one.tokenizer(f"{one.group}-{one.name}")
    arguments = dict(one.make_config)
    arguments["vocab_size"] = max(len(tokenizer), max(tokenizer.get_vocab().values()) + 1)
    if one.name in ("m2m-100",):
        arguments["vocab_size"] = (arguments["vocab_size"] + 8 + 7) // 8 * 8
    if one.name == "marian-apart":
        target = json.loads((old_files / "target_vocab.json").read_text())
        source = json.loads((old_files / "vocab.json").read_text())
        arguments["vocab_size"], arguments["decoder_vocab_size"] = len(source), len(target)
    ids = special_ids(tokenizer)
    if one.name == "marian-apart":
        ids = {"eos_token_id": 0, "pad_token_id": source["<pad>"], "bos_token_id": 0}
    for key, value in ids.items():
        if value is not None:
            arguments.setdefault(key, value)
    arguments.setdefault("pad_token_id", None)
    if one.group == "encoder_decoders":
        start = (one.generation or {}).get("decoder_start_token_id", "</s>")
        start = token_id(tokenizer, start)
        if one.name == "marian-apart":
            start = target["<pad>"]
        arguments["decoder_start_token_id"] = start
    config = eager(getattr(tf, one.config)(**arguments))
    torch.manual_seed(0)
    model = getattr(tf, one.cls)(config).eval()
    return folder, tokenizer, old_files, config, model


def finished(one, folder, tokenizer, config, model, seed):
    """Random weights, saved and loaded by the library itself: (in double, exactly)."""
    randomize(model, config, seed, one.name.startswith("marian"))
    if one.group == "encoder_decoders":
        louder_end(model, config)
        model.generation_config = generation_of(one, tokenizer, config)
        if one.name == "marian-apart":
            model.generation_config.decoder_start_token_id = config.decoder_start_token_id
            model.generation_config.bad_words_ids = [[config.decoder_start_token_id]]
    elif one.group == "decoders":
        model.generation_config = generation_of(one, tokenizer, config)
    saved = copy.deepcopy(model).to(getattr(torch, one.dtype))
    saved.config.architectures = [one.cls]
    saved.save_pretrained(str(folder))
    plain = type(model).from_pretrained(str(folder), dtype=torch.float64, attn_implementation="eager").eval()
    return plain, exact_model(plain, str(folder))


def cases_of(one, tokenizer, plain):
    if one.group == "encoder_decoders":
        start = plain.generation_config.decoder_start_token_id
        generator = np.random.RandomState(5)
        size = getattr(plain.config, "decoder_vocab_size", None) or plain.config.vocab_size
        result = []
        for text, count in zip(MODEL_TEXTS, (9, 3)):
            target = [start, *generator.randint(4, min(size, 90) - 4, count).tolist()]
            result.append({"source": list(tokenizer(text)["input_ids"]), "target": target})
        return result
    result = []
    for text in MODEL_TEXTS:
        result.append({"ids": list(tokenizer(text)["input_ids"])})
    if one.group == "encoders":
        both = tokenizer(MODEL_TEXTS[1], TEXTS[0])
        result[1] = {"ids": list(both["input_ids"])}
        if getattr(plain.config, "type_vocab_size", 1) > 1:
            result[1]["types"] = list(both.get("token_type_ids", [0] * len(result[1]["ids"])))
    return result


def golden_text(value):
    lines = []
    for key, entry in value.items():
        if isinstance(entry, list) and entry and isinstance(entry[0], dict):
            inner = ",\n".join("    " + json.dumps(e, separators=(",", ":"), ensure_ascii=False) for e in entry)
            lines.append(f"  {json.dumps(key)}: [\n{inner}\n  ]")
        else:
            lines.append(f"  {json.dumps(key)}: {json.dumps(entry)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def variety(model, sources):
    """How many different best hypotheses a few settings give: the more, the better a test they are."""
    found = set()
    for ids in sources:
        for early, penalty in ((True, 1.0), (False, 2.0), ("never", 2.0)):
            best = continued(model, ids, do_sample=False, num_beams=4, length_penalty=penalty, early_stopping=early,
                             max_length=16)[0][0]
            if len(best) < 15:
                found.add((tuple(ids), tuple(best)))
    return len(found)


def make(one, out):
    folder, tokenizer, old_files, config, model = build(one, out)
    plain, exact = finished(one, folder, tokenizer, config, model, 100)
    if one.group == "encoder_decoders":
        scores = {}
        sources = [list(tokenizer(t)["input_ids"]) for t in MODEL_TEXTS]
        for seed in range(100, 104):
            if seed > 100:
                model = getattr(tf, one.cls)(config).eval()
                plain, exact = finished(one, folder, tokenizer, config, model, seed)
            with contextlib.suppress(Exception):
                scores[seed] = variety(exact, sources)
            if scores.get(seed, 0) >= 4:
                break
        best = max(scores, key=scores.get) if scores else 100
        if best != seed:
            model = getattr(tf, one.cls)(config).eval()
            plain, exact = finished(one, folder, tokenizer, config, model, best)
    tokenizer.save_pretrained(str(folder))
    (folder / "texts.json").write_text(described(tokenizer), encoding="utf-8")
    kind = KINDS[one.group]
    # Pegasus's table of positions is saved, rounded to the model's type; heed computes it.
    tolerance = 5e-4 if config.model_type == "pegasus" else 1e-8
    result = {"model": one.cls, "kind": kind, "tolerance": {"f64": tolerance, "f32": 1e-4},
              "versions": {"transformers": tf.__version__, "tokenizers": tk.__version__, "torch": torch.__version__},
              "cases": []}
    by_f32 = 0.0
    for case in cases_of(one, tokenizer, plain):
        with Exact():
            right = outputs_of(exact, kind, case)
        rough = outputs_of(plain, kind, case)
        by_f32 = max([by_f32, *(difference(rough[name], right[name]) for name in right)])
        result["cases"].append({**case, **in_part(right)})
    result["by_f32"] = float(f"{by_f32:.2g}")
    if one.group == "decoders":
        result["greedy"], result["beams"] = [], []
        for text in (TEXTS[0], TEXTS[7], TEXTS[1]):
            prompt = list(tokenizer(text)["input_ids"])
            tokens = continued(exact, prompt, do_sample=False, num_beams=1, max_new_tokens=12)[0][0]
            result["greedy"].append({"text": text, "prompt": prompt, "new_tokens": 12, "continuation": tokens,
                                     "decoded": tokenizer.decode(tokens, skip_special_tokens=True)})
        prompt = list(tokenizer(TEXTS[7])["input_ids"])
        for one_result in beams_of(exact, prompt, [{"num_beams": 3, "length_penalty": 1.0, "early_stopping": False}],
                                   {"max_new_tokens": 10}):
            result["beams"].append({"text": TEXTS[7], "prompt": prompt, **one_result})
    elif one.group == "encoder_decoders":
        result["greedy"], result["beams"], result["defaults"] = [], [], []
        start = [plain.generation_config.decoder_start_token_id]
        for text in (MODEL_TEXTS[0], MODEL_TEXTS[1], TEXTS[7]):
            source = list(tokenizer(text)["input_ids"])
            tokens = continued(exact, source, do_sample=False, num_beams=1, max_length=14, no_repeat_ngram_size=0,
                               early_stopping=False, length_penalty=1.0, min_length=0)[0][0]
            result["greedy"].append({"text": text, "source": source, "start": start, "max_length": 14,
                                     "target": tokens})
            for row in beams_of(exact, source, [{}], {}):
                row.pop("settings", None)
                result["defaults"].append({"text": text, "source": source, **row})
        for text in MODEL_TEXTS:
            source = list(tokenizer(text)["input_ids"])
            neutral = {"no_repeat_ngram_size": 0, "min_length": 0}
            for row in beams_of(exact, source, [{**neutral, **s} for s in beam_settings()], {"max_length": 16}):
                result["beams"].append({"text": text, "source": source, "start": start, **row})
    (folder / "golden.json").write_text(golden_text(result), encoding="utf-8")
    # The older files, where save_pretrained does not write them, and they are small.
    for path in old_files.iterdir():
        if path.name != "tokenizer_config.json" and not (folder / path.name).exists() and path.stat().st_size < 50000:
            (folder / "old").mkdir(exist_ok=True)
            shutil.copy(path, folder / "old" / path.name)
    if (folder / "old").exists():
        shutil.copy(old_files / "tokenizer_config.json", folder / "old" / "tokenizer_config.json")
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    note(f"{one.group}/{one.name}: {type(tokenizer).__name__}, {len(tokenizer)} tokens, {size >> 10} KiB, by f32 "
         f"{by_f32:.1e}")
