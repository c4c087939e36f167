#!/usr/bin/env python3
"""make.py --out DIR [NAME | GROUP | GROUP/NAME ...]: small models with random weights, each as the original library saves its family.

Every model is a folder DIR/GROUP/NAME with its configuration, weights, tokenizer and golden.json: inputs, and what the
family's published definition makes of them, computed in f64 by PyTorch. heed's code has no part in it.

--check-particulars takes each particular of each model wrong, one at a time, and fails unless an output changes by more
than a hundred times the tolerance of f64: then a reader that gets it wrong cannot pass.
"""

import argparse
import json
import pathlib
import shutil
import sys

import catalogue
import generation
import torch
from parts import Reading

# Of the largest absolute value of an output: what another implementation may differ by.
TOLERANCE = {"f64": 1e-8, "f32": 1e-4}


def rounded(value):
    """Nested lists with ten digits: a tenth of the tolerance of f64 and more."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    return [rounded(v) for v in value] if isinstance(value, list) else value


def outputs_of(model, store, read=None):
    """For each of the model's inputs {name: tensor}."""
    return [model.run(store, read or Reading(), case) for case in model.cases]


def change(right, wrong):
    """The largest difference of an output, by the tolerance's measure; infinite where shapes differ."""
    worst = 0.0
    for a, b in zip(right, wrong):
        for name in a:
            worst = max(worst, float((a[name] - b[name]).abs().max() / a[name].abs().max()))
    return worst


def particulars(model, store):
    """{particular: how much the outputs change when it alone is read wrong}."""
    reading = Reading()
    right = outputs_of(model, store, reading)
    return {name: change(right, outputs_of(model, store, Reading(name))) for name in reading.particulars}


def attempts(candidates, function, wanted):
    """The first `wanted` results of function(candidate) that are clear."""
    results = []
    for candidate in candidates:
        try:
            results.append(function(candidate))
        except generation.Unclear:
            continue
        if len(results) == wanted:
            break
    return results


def golden(model, store):
    right = outputs_of(model, store)
    result = {"model": model.config["architectures"][0], "kind": model.kind, "tolerance": TOLERANCE, "cases": []}
    for case, outputs in zip(model.cases, right):
        outputs = {**outputs, **model.more_outputs(store, case)}
        result["cases"].append({**case, **{name: rounded(value.tolist()) for name, value in outputs.items()}})
    result.update(model.continuations(store, attempts))
    result["particulars"] = {name: float(f"{size:.2g}") for name, size in particulars(model, store).items()}
    return result


def golden_text(value):
    """JSON with one line for each case and for each other entry."""
    lines = []
    for key, entry in value.items():
        if isinstance(entry, list) and entry and isinstance(entry[0], dict):
            inner = ",\n".join("    " + json.dumps(e, separators=(",", ":")) for e in entry)
            lines.append(f"  {json.dumps(key)}: [\n{inner}\n  ]")
        elif key == "particulars":
            inner = ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in entry.items())
            lines.append(f"  {json.dumps(key)}: {{\n{inner}\n  }}")
        else:
            lines.append(f"  {json.dumps(key)}: {json.dumps(entry)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write(model, out):
    folder = out / model.group / model.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    store = model.store()
    text = golden_text(golden(model, store))
    model.write_files(folder, store)
    (folder / "golden.json").write_text(text)
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


def check(model):
    """Prints the particulars that would pass unnoticed; true if there are none."""
    sizes = particulars(model, model.store())
    faint = {name: size for name, size in sizes.items() if not size > 100 * TOLERANCE["f64"]}
    for name, size in faint.items():
        print(f"{model.name}: \"{name}\" changes the outputs by {size:.1e} alone")
    in_f32 = sum(size > 3 * TOLERANCE["f32"] for size in sizes.values())
    print(f"{model.name}: {len(sizes)} particulars, {in_f32} of them to be seen in f32 too")
    return not faint


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--check-particulars", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    models = [m for m in catalogue.MODELS
              if not arguments.names or {m.name, m.group, f"{m.group}/{m.name}"} & set(arguments.names)]
    unknown = set(arguments.names) - {name for m in models for name in (m.name, m.group, f"{m.group}/{m.name}")}
    if unknown:
        sys.exit(f"make.py: unknown models: {', '.join(sorted(unknown))}")
    if arguments.check_particulars:
        sys.exit(0 if all([check(model) for model in models]) else 1)
    if arguments.out is None:
        sys.exit("make.py: --out DIR or --check-particulars is needed")
    for model in models:
        print(f"{model.group}/{model.name}: {write(model, arguments.out)} bytes")


if __name__ == "__main__":
    main()
