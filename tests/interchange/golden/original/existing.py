"""Models made from published definitions, beside the library."""

import contextlib
import json

import torch
import transformers as tf
from exact import Exact, exact_model
from log import last_line
from running import continued, difference, outputs_of, tensor


def check_existing(folder):
    report = {}
    golden = json.loads((folder / "golden.json").read_text())
    config = json.loads((folder / "config.json").read_text())
    cls = getattr(tf, config["architectures"][0])
    plain, info = cls.from_pretrained(str(folder), dtype=torch.float64, attn_implementation="eager",
                                      output_loading_info=True)
    plain.eval()
    report["missing"] = sorted(map(str, info.get("missing_keys", [])))
    report["unexpected"] = sorted(map(str, info.get("unexpected_keys", [])))
    exact = exact_model(plain, str(folder))
    pipeline = None
    if (folder / "modules.json").exists():
        with contextlib.suppress(Exception):
            import sentence_transformers as st
            pipeline = st.SentenceTransformer(str(folder), device="cpu", local_files_only=True).double().eval()
    worst = {}
    for case in golden["cases"]:
        with Exact():
            right = outputs_of(exact, golden["kind"], case)
            if pipeline is not None and "embedding" in case:
                with contextlib.suppress(Exception):
                    features = {"input_ids": tensor(case["ids"]),
                                "attention_mask": torch.ones(1, len(case["ids"]), dtype=torch.long)}
                    if "types" in case:
                        features["token_type_ids"] = tensor(case["types"])
                    right["embedding"] = pipeline(features)["sentence_embedding"]
        for name in right:
            if name in case:
                worst[name] = max(worst.get(name, 0.0), difference(case[name], right[name]))
    report["differences"] = {name: float(f"{value:.3g}") for name, value in worst.items()}
    report["not_compared"] = sorted({k for c in golden["cases"] for k in c} - set(worst) -
                                    {"ids", "types", "source", "target"})
    for i, one in enumerate(golden.get("greedy", [])):
        with contextlib.suppress(Exception):
            if golden["kind"] == "decoder":
                found = continued(exact, one["prompt"], do_sample=False, num_beams=1,
                                  max_new_tokens=one["new_tokens"])[0][0]
                same = found == one["continuation"]
            else:
                found = continued(exact, one["source"], do_sample=False, num_beams=1,
                                  max_length=one["max_length"])[0][0]
                same = found == one["target"]
            report[f"greedy {i}"] = "same" if same else found
    for i, one in enumerate(golden.get("beam", [])):
        try:
            tokens, score = continued(exact, one["source"], do_sample=False, num_beams=one["beams"],
                                      length_penalty=one["length_penalty"], max_length=one["max_length"],
                                      early_stopping=False)[0]
            same = tokens == one["target"] and abs(score - one["score"]) < 1e-6
            report[f"beam {i}"] = "same" if same else {"tokens": tokens, "score": score}
        except Exception as error:
            report[f"beam {i}"] = last_line(error)
    return report


def check_tokens(folder):
    texts = json.loads((folder / "texts.json").read_text())
    tokenizer = tf.AutoTokenizer.from_pretrained(str(folder))
    different = []
    for entry in texts:
        found = list(tokenizer(entry["text"])["input_ids"])
        if found != entry["ids"]:
            different.append({"text": entry["text"], "found": found, "kept": entry["ids"]})
    return {"class": type(tokenizer).__name__, "texts": len(texts), "different": different}


def check_one_existing(folder):
    try:
        result = check_existing(folder)
    except Exception as error:
        result = {"error": last_line(error)}
    if (folder / "texts.json").exists():
        try:
            result["tokens"] = check_tokens(folder)
        except Exception as error:
            result["tokens"] = {"error": last_line(error)}
    return result


def summary_of(name, one):
    tokens = one.get("tokens", {})
    text = f"existing {name}: {one.get('differences', one.get('error'))}"
    for key, value in one.items():
        if key.startswith(("greedy", "beam")):
            text += f" {key}:{'same' if value == 'same' else 'DIFFERENT'}"
    if "texts" in tokens:
        text += f" tokens different: {len(tokens['different'])} of {tokens['texts']}"
    elif tokens:
        text += f" tokens: {tokens.get('error')}"
    for key in ("missing", "unexpected"):
        if one.get(key):
            text += f" {key} {one[key]}"
    return text
