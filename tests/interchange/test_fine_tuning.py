"""The loss of a first update is the cross-entropy that the published definitions give: of a translator, with the
tokens that its translations begin with; of a chat model, over the assistant's tokens alone; of a classifier.

The definitions are the golden models', the tokens of texts those of the original tokenizers library (texts.json).
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

GOLDEN = pathlib.Path(__file__).parent / "golden"
sys.path.insert(0, str(GOLDEN))

import catalogue  # noqa: E402
from parts import Reading  # noqa: E402

HEED = os.environ["HEED_BINARY"]
MODELS = {model.name: model for model in catalogue.MODELS if model.group != "gguf"}
TOLERANCE = 2e-5
LANGUAGES = {"m2m-100": ("en", "de", "__en__", "__de__"), "nllb": ("eng_Latn", "deu_Latn", "eng_Latn", "deu_Latn"),
             "mbart-25": ("en_XX", "de_DE", "en_XX", "de_DE"), "mbart-50": ("en_XX", "de_DE", "en_XX", "de_DE")}
failures = []


def first_loss(folder, recipe):
    """The loss of one update with all of the text and no dropout."""
    path, out = pathlib.Path(folder) / "recipe.toml", pathlib.Path(folder) / "run"
    dropouts = "".join(f"{name}_dropout = 0.0\n" for name in ("embedding", "attention", "inner", "branch"))
    path.write_text(f"""
[model]
{dropouts}
[training]
{recipe['training']}
updates = 1
log_every = 1
precision = "f32"
smoothing = 0.0
[checkpoints]
final = "last"
[data]
{recipe['data']}
""")
    done = subprocess.run([HEED, "train", str(path), "--out", str(out), "--threads", "1"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    events = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return next(event["loss"] for event in events if "loss" in event)


def check(what, found, expected):
    if not abs(found - expected) <= TOLERANCE * expected:
        failures.append(f"{what}: {found} instead of {expected}")


def ids_of_tokens(model):
    folder = GOLDEN / model.group / model.name
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    return {entry["content"]: int(id) for id, entry in settings["added_tokens_decoder"].items()}


def texts_of(model):
    texts = json.loads((GOLDEN / model.group / model.name / "texts.json").read_text())
    return [entry for entry in texts if entry["text"].strip() and "\n" not in entry["text"] and "<" not in entry["text"]
            and len(entry["ids"]) < 24]


def cross_entropy(logits, expected):
    return [-float(row.log_softmax(-1)[token]) for row, token in zip(logits, expected)]


def check_translator(name):
    model = MODELS[name]
    c = {**model.config, **model.generation}
    texts, names = texts_of(model), ids_of_tokens(model)
    special = {id for token, id in names.items() if token != "<unk>"} | {c["eos_token_id"]}
    start, losses = [c["decoder_start_token_id"]], []
    more = ""
    if name in LANGUAGES:
        source, target, source_token, target_token = LANGUAGES[name]
        more = f'source_language = "{source}"\ntarget_language = "{target}"'
        if name == "mbart-25":
            start = [names[target_token]]
        else:
            start.append(names[target_token])
    elif c.get("forced_bos_token_id") is not None:
        start.append(c["forced_bos_token_id"])
    for entry in texts:
        source_ids = list(entry["ids"])
        if name in LANGUAGES:
            # Whatever language the tokenizer has by default.
            source_ids = [names[source_token] if id in names.values() and id != c["eos_token_id"]
                          and id != names.get("<unk>") else id for id in source_ids]
        # A text is its own translation.
        text_ids = [id for id in entry["ids"] if id not in special]
        written = start[1:] + text_ids + [c["eos_token_id"]]
        fed = start[:1] + written[:-1]
        logits = model.function(model.config, model.store(), Reading(), source_ids, fed)[1]
        losses += cross_entropy(logits, written)
    with tempfile.TemporaryDirectory() as folder:
        lines = pathlib.Path(folder) / "lines"
        lines.write_text("".join(entry["text"] + "\n" for entry in texts))
        found = first_loss(folder, {
            "training": f'task = "translation"\nfrom = "{GOLDEN / model.group / name}"',
            "data": f'train_source = ["{lines}"]\ntrain_target = ["{lines}"]\nmax_length = 24\n'
                    f'batch_target_tokens = 4000\n{more}'})
    check(f"translation {name}", found, sum(losses) / len(losses))


TEMPLATE = """{% for m in messages %}{{ '<|im_start|>' + m.role + m.content + '<|im_end|>' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant' }}{% endif %}"""


def check_chat(name):
    model = MODELS[name]
    texts = texts_of(model)
    names = ids_of_tokens(model)
    begin, end = names["<|im_start|>"], names["<|im_end|>"]
    tokenizer = json.loads((GOLDEN / model.group / name / "tokenizer.json").read_text())
    letters = tokenizer["model"]["vocab"]
    # Roles whose letters merge with nothing else: the texts' own tokens stay as they are behind a space.
    bare = [entry["bare"] for entry in texts]
    losses, lines = [], []
    for i in range(0, len(texts) - 1, 2):
        # Contents begin with a mark of their own, so that no token lies across a border.
        ids, learned = [], []
        messages = []
        for role, entry, content in (("tool", texts[i], bare[i]), ("assistant", texts[i + 1], bare[i + 1])):
            spelled = roles[role]
            messages.append({"role": role, "content": "<|im_start|>" + entry["text"]})
            ids += [begin, *spelled, begin, *content, end]
            learned += [False] * (1 + len(spelled)) + [role == "assistant"] * (len(content) + 2)
        logits = model.function(model.config, model.store(), Reading(), ids)
        rows = [j for j in range(len(ids) - 1) if learned[j + 1]]
        losses += cross_entropy([logits[j] for j in rows], [ids[j + 1] for j in rows])
        lines.append(json.dumps({"messages": messages}))
    with tempfile.TemporaryDirectory() as folder:
        data, template = pathlib.Path(folder) / "talks.jsonl", pathlib.Path(folder) / "template.jinja"
        data.write_text("".join(line + "\n" for line in lines))
        template.write_text(TEMPLATE)
        found = first_loss(folder, {
            "training": f'task = "chat"\nfrom = "{GOLDEN / model.group / name}"',
            "data": f'train = ["{data}"]\nchat_template = "{template}"\ncontext = 120\nbatch_sequences = 100'})
    check(f"chat {name}", found, sum(losses) / len(losses))


def check_classifier(name):
    model = MODELS[name]
    labels = [model.config["id2label"][str(i)] for i in range(len(model.config["id2label"]))]
    losses, lines = [], []
    for i, entry in enumerate(texts_of(MODELS["bert"])):
        label = i % len(labels)
        logits = model.run(model.store(), Reading(), {"ids": entry["ids"]})["logits"][0]
        losses += cross_entropy([logits], [label])
        lines.append(f"{entry['text']}\t{labels[label]}\n")
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "lines.tsv"
        data.write_text("".join(lines))
        found = first_loss(folder, {
            "training": f'task = "classify"\nfrom = "{GOLDEN / model.group / name}"',
            "data": f'train = ["{data}"]\nbatch_sequences = 100'})
    check(f"classify {name}", found, sum(losses) / len(losses))


# In the tokens of the model that learns to chat, by hand.
roles = {}


def spell(model, word):
    """A word's tokens by its tokenizer's merges."""
    tokenizer = json.loads((GOLDEN / model.group / model.name / "tokenizer.json").read_text())["model"]
    pieces = list(word)
    for merge in tokenizer["merges"]:
        a, b = merge if isinstance(merge, list) else merge.split(" ")
        at = 0
        while at + 1 < len(pieces):
            if (pieces[at], pieces[at + 1]) == (a, b):
                pieces[at:at + 2] = [a + b]
            at += 1
    return [tokenizer["vocab"][piece] for piece in pieces]


torch.set_num_threads(1)
roles = {word: spell(MODELS["qwen2"], word) for word in ("tool", "assistant")}
for attempt, names in ((check_translator, ("marian", "bart", "m2m-100", "nllb", "mbart-25", "mt5")),
                       (check_chat, ("qwen2",)), (check_classifier, ("bert-sequence",))):
    for name in names:
        try:
            attempt(name)
        except (RuntimeError, FileNotFoundError) as error:
            failures.append(f"{attempt.__name__} {name}: {error}")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
