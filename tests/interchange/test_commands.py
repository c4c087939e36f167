"""heed's commands take Hugging Face directories as they are: texts in, and what the published definitions make of them.

The texts' tokens are those of the original tokenizers library (texts.json); the rest is computed here by the golden
models' definitions.
"""

import json
import os
import pathlib
import shutil
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
import files  # noqa: E402
import generation  # noqa: E402
import pipelines  # noqa: E402
from parts import Reading  # noqa: E402

HEED = os.environ["HEED_BINARY"]
MODELS = {model.name: model for model in catalogue.MODELS if model.group != "gguf"}
# f32 against double, over some steps of decoding.
TOLERANCE = 3e-4
LANGUAGES = {"m2m-100": ("--target-language", "de"), "nllb": ("--target-language", "deu_Latn"),
             "mbart-25": ("--target-language", "de_DE"), "mbart-50": ("--target-language", "de_DE")}
failures = []


def heed(*arguments, text):
    done = subprocess.run([HEED, *arguments, "--precision", "f32", "--threads", "1"], input=text + "\n",
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def texts_by_tokenizer():
    """{what tokenizer.json holds: its texts and their tokens}; models that share one have one texts.json."""
    return {(path.parent / "tokenizer.json").read_text(): json.loads(path.read_text())
            for path in GOLDEN.glob("*/*/texts.json") if (path.parent / "tokenizer.json").exists()}


BY_TOKENIZER = texts_by_tokenizer()


def texts_of(model):
    """(text, ids) of one-line texts; special tokens spelled in a text are another test's."""
    folder = GOLDEN / model.group / model.name
    if (folder / "tokenizer.json").exists():
        entries = BY_TOKENIZER[(folder / "tokenizer.json").read_text()]
    else:
        entries = json.loads((folder / "texts.json").read_text())
    return [(entry["text"], entry["ids"]) for entry in entries
            if entry["text"].strip() and "\n" not in entry["text"] and "<" not in entry["text"]]


def check(what, found, expected):
    difference = max((abs(a - b) for a, b in zip(found, expected)), default=0.0)
    if len(found) != len(expected) or not difference <= TOLERANCE * max([1.0, *map(abs, expected)]):
        failures.append(f"{what}: {found} instead of {expected}")


def never_written(model, *roles):
    """Tokens that heed's texts never have, though a random model may like them, unless they end a text."""
    folder = GOLDEN / model.group / model.name
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    ids = {entry["content"]: int(id) for id, entry in settings["added_tokens_decoder"].items()}
    c = {**model.config, **model.generation}
    return [ids[settings[role]] for role in roles
            if settings.get(role) in ids and ids[settings[role]] not in generation.ends(c)]


def greedy_scores(model, ids, steps):
    """The log-probabilities of the likeliest tokens, up to a step that f32 could take otherwise."""
    store, c = model.store(), {**model.config, **model.generation}
    avoided = never_written(model, "bos_token", "unk_token", "pad_token")
    scores, ids = [], list(ids)
    for _ in range(steps):
        log_probabilities = model.function(model.config, store, Reading(), ids)[-1].log_softmax(-1)
        log_probabilities[avoided] = -float("inf")
        best = log_probabilities.topk(2)
        if best.values[0] - best.values[1] < generation.CLEAR:
            return scores, False
        scores.append(float(best.values[0]))
        ids.append(int(best.indices[0]))
        if ids[-1] in generation.ends(c):
            break
    return scores, True


def check_generate(name, steps=8):
    model = MODELS[name]
    folder = str(GOLDEN / model.group / name)
    for text, ids in texts_of(model):
        expected, whole = greedy_scores(model, ids, steps)
        out = heed("generate", "--model", folder, "--temperature", "0", "--max-tokens", str(steps), "--json",
                   "--token-scores", "--prompt", text, text="")
        found = [token["log_probability"] for token in json.loads(out)["each"]]
        check(f"generate {name} {text!r}", found if whole else found[:len(expected)], expected)


def check_translate(name, *languages):
    """The score of the best of four hypotheses; texts whose search is too close for f32 are left out."""
    model, compared = MODELS[name], 0
    store, folder = model.store(), str(GOLDEN / model.group / name)
    avoided = [[token] for token in never_written(model, "bos_token", "pad_token")]
    c = {**model.settings, "bad_words_ids": avoided}
    for text, ids in texts_of(model):
        def logits_of(target):
            return generation.last_row(model.function(model.config, store, Reading(), ids, target)[1])

        try:
            tokens, _, score = generation.beam(logits_of, c, model.start(), 4, 20, 1.0,
                                               stops=("going on", "count"))
        except generation.Unclear:
            continue
        if len(tokens) == 19:
            continue
        out = heed("translate", "--model", folder, "--beam", "4", "--max-tokens", "19", "--scores", "--token-scores",
                   *languages, text=text)
        _, found, each = out.rstrip("\n").split("\t")
        # At the limit heed ends a hypothesis by its end token, the library as it is.
        if len(each.split(" ")) == 19:
            continue
        check(f"translate {name} {text!r}", [float(found)], [score])
        compared += 1
    if compared == 0:
        failures.append(f"translate {name}: no text has a clear best translation")


def check_rules(name):
    """Words of several tokens that are never written, and a penalty for repetition, of a generation_config.json."""
    model, compared = MODELS[name], 0
    store, plain = model.store(), [[token] for token in never_written(model, "bos_token", "pad_token")]
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path) / "model"
        shutil.copytree(GOLDEN / model.group / name, folder)
        for text, ids in texts_of(model):
            def logits_of(target):
                return generation.last_row(model.function(model.config, store, Reading(), ids, target)[1])

            c = {**model.settings, "bad_words_ids": plain}
            try:
                free, _, _ = generation.beam(logits_of, c, model.start(), 4, 20, 1.0, stops=("going on", "count"))
                if len(free) < 5:
                    continue
                rules = {"bad_words_ids": [free[1:3], free[2:5]], "repetition_penalty": 1.3}
                c = {**c, **rules, "bad_words_ids": plain + rules["bad_words_ids"]}
                tokens, _, score = generation.beam(logits_of, c, model.start(), 4, 20, 1.0, stops=("going on", "count"))
            except generation.Unclear:
                continue
            if len(tokens) == 19 or tokens == free:
                continue
            settings = json.loads((folder / "generation_config.json").read_text())
            (folder / "generation_config.json").write_text(json.dumps({**settings, **rules}))
            out = heed("translate", "--model", str(folder), "--beam", "4", "--max-tokens", "19", "--scores",
                       "--token-scores", text=text)
            _, found, each = out.rstrip("\n").split("\t")
            if len(each.split(" ")) == 19:
                continue
            check(f"rules {name} {text!r}", [float(found)], [score])
            compared += 1
    if compared == 0:
        failures.append(f"rules {name}: no text has a clear best translation")


def check_embed(name, *options):
    model = MODELS[name]
    store = model.store()
    for text, ids in texts_of(model):
        expected = model.run(store, Reading(), {"ids": ids})["embedding"][0].tolist()
        out = heed("embed", "--model", str(GOLDEN / model.group / name), *options, text=text)
        check(f"embed {name} {text!r}", json.loads(out), expected)


def check_embed_decoder(name, head):
    """A language model's last layer: a head without bias turns the mean of its rows into the mean of their logits."""
    model = MODELS[name]
    store = model.store()
    for text, ids in texts_of(model):
        logits = model.run(store, Reading(), {"ids": ids})["logits"]
        for pooling, expected in (("mean", logits.mean(0)), ("last", logits[-1])):
            out = heed("embed", "--model", str(GOLDEN / model.group / name), "--pooling", pooling, text=text)
            found = store.tensors[head].double() @ torch.tensor(json.loads(out), dtype=torch.float64)
            check(f"embed {name} by {pooling} {text!r}", found.tolist(), expected.tolist())


def check_embed_source(name):
    """The rows of an encoder-decoder's encoder for a source."""
    model = MODELS[name]
    store = model.store()
    for text, ids in texts_of(model):
        memory = model.run(store, Reading(), {"source": ids, "target": model.start()})["memory"]
        out = heed("embed", "--model", str(GOLDEN / model.group / name), text=text)
        check(f"embed {name} {text!r}", json.loads(out), memory.mean(0).tolist())


def check_decoder_pipeline(name):
    """A language model that was trained to embed texts, saved with its modules and without its head."""
    model = MODELS[name]
    store = model.store()
    text, ids = next((text, ids) for text, ids in texts_of(model) if text == "on it")
    logits = model.run(store, Reading(), {"ids": ids})["logits"]
    head = store.tensors["lm_head.weight"].double()
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "copy"
        shutil.copytree(GOLDEN / model.group / name, copy)
        tensors = {key: tensor for key, tensor in model.saved_tensors(store).items() if key != "lm_head.weight"}
        files.write_safetensors(copy / "model.safetensors", tensors)
        pipelines.write_pipeline(copy, head.shape[1], "lasttoken", {}, prompts={"query": "on "})
        pooling = copy / "1_Pooling" / "config.json"
        pooling.write_text(json.dumps({**json.loads(pooling.read_text()), "pooling_mode_lasttoken": True}))
        own = pathlib.Path(folder) / "own"
        subprocess.run([HEED, "import", str(copy), "--out", str(own)], check=True, capture_output=True)
        for source in copy, own:
            found = torch.tensor(json.loads(heed("embed", "--model", str(source), text=text)), dtype=torch.float64)
            check(f"length of {source.name}", [float(found.norm())], [1.0])
            scale = float(logits[-1].norm() / (head @ found).norm())
            check(f"embed {name} by modules", (head @ found * scale).tolist(), logits[-1].tolist())
            prompted = json.loads(heed("embed", "--model", str(source), "--prompt-name", "query", text="it"))
            check(f"prompt of {source.name}", prompted, found.tolist())


def check_pickled_dense(name):
    """A Dense module may be in PyTorch's own file; and settings that no module knows are named by the import."""
    source, text = GOLDEN / MODELS[name].group / name, "the cat is on it"
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "copy"
        shutil.copytree(source, copy)
        weights = copy / "2_Dense" / "model.safetensors"
        files.write_pickle(weights.with_name("pytorch_model.bin"), files.read_safetensors(weights))
        weights.unlink()
        found, expected = (json.loads(heed("embed", "--model", str(path), text=text)) for path in (copy, source))
        check(f"embed {name} with a pickled Dense module", found, expected)
        document = json.loads((copy / "tokenizer.json").read_text())
        document.update(truncation={"max_length": 5}, padding={"pad_id": 0})
        (copy / "tokenizer.json").write_text(json.dumps(document))
        for command in (["inspect", str(copy)], ["import", str(copy), "--out", str(copy.with_name("own"))]):
            said = subprocess.run([HEED, *command], capture_output=True, text=True, check=True).stdout
            for setting in "truncation", "padding":
                if f"tokenizer: the file's {setting} is not applied" not in said:
                    failures.append(f"{command[0]} {name}: does not say that {setting} is not applied: {said}")


def check_prompts(name):
    """A prompt is a part of the text; where the pooling leaves it out, the first token goes with it."""
    model, text = MODELS[name], "the cat is on it, and no dogs."
    ids = dict(texts_of(model))[text]
    rows = model.run(model.store(), Reading(), {"ids": ids})["hidden"]
    source = GOLDEN / model.group / name
    prompts = {"article": "the ", "none": ""}

    def embedding(folder, *options, rest="cat is on it, and no dogs."):
        return json.loads(heed("embed", "--model", str(folder), *options, text=rest))

    def normal(row):
        return (row / row.norm()).tolist()

    check(f"prompt {name}", embedding(source, "--prompt", "the "), normal(rows.mean(0)))
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "copy"
        shutil.copytree(source, copy)
        (copy / "config_sentence_transformers.json").write_text(
            json.dumps({"prompts": prompts, "default_prompt_name": "article"}))
        check(f"default prompt {name}", embedding(copy), normal(rows.mean(0)))
        check(f"prompt by name {name}", embedding(copy, "--prompt-name", "none", rest=text), normal(rows.mean(0)))
        pooling = copy / "1_Pooling" / "config.json"
        pooling.write_text(json.dumps({**json.loads(pooling.read_text()), "include_prompt": False}))
        own = pathlib.Path(folder) / "own"
        subprocess.run([HEED, "import", str(copy), "--out", str(own)], check=True, capture_output=True)
        for model in copy, own:
            check(f"prompt left out {model.name}", embedding(model), normal(rows[2:].mean(0)))
            check(f"last token {model.name}", embedding(model, "--pooling", "last"), normal(rows[-1]))
            check(f"first token {model.name}", embedding(model, "--pooling", "first"), normal(rows[0]))
            check(f"no prompt {model.name}", embedding(model, "--prompt", "", rest=text), normal(rows.mean(0)))


def check_fill(name):
    """The probabilities of the likeliest tokens that are words, for a mask at the end of a text."""
    model = MODELS[name]
    folder, store = GOLDEN / model.group / name, model.store()
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    special = {entry["content"]: int(id) for id, entry in settings["added_tokens_decoder"].items() if entry["special"]}
    mask = settings["mask_token"]
    for text, ids in texts_of(model):
        ids = ids[:-1] + [special[mask]] + ids[-1:]
        probabilities = model.run(store, Reading(), {"ids": ids})["logits"][-2].softmax(-1)
        out = json.loads(heed("fill", "--model", str(folder), "--json", "--top", "4", text=f"{text} {mask}"))
        (guesses,) = out["masks"]
        words = [i for i in range(len(probabilities)) if i not in special.values()]
        expected = sorted((float(probabilities[i]) for i in words), reverse=True)[:4]
        check(f"fill {name} {text!r}", [guess["probability"] for guess in guesses],
              [float(probabilities[guess["id"]]) for guess in guesses])
        if any(guess["token"] == "\u2581" for guess in guesses) or len(guesses) != 4:
            failures.append(f"fill {name} {text!r}: {guesses}")
        if not any(model.config["model_type"] == kind for kind in ("albert", "xlm-roberta")):
            check(f"best of {name} {text!r}", [guess["probability"] for guess in guesses], expected)
        if guesses[0]["text"] != out["text"]:
            failures.append(f"fill {name} {text!r}: the text is not that of the likeliest token")


def check_classify(name):
    model = MODELS[name]
    store, labels = model.store(), model.config["id2label"]
    for text, ids in texts_of(model):
        logits = model.run(store, Reading(), {"ids": ids})["logits"][0]
        out = heed("classify", "--model", str(GOLDEN / model.group / name), text=text)
        expected = labels[str(int(logits.argmax()))]
        if out.split("\t")[0].strip() != expected:
            failures.append(f"classify {name} {text!r}: {out!r} instead of {expected}")


def check_discriminator(name):
    """The label of each word is that of its first token."""
    model = MODELS[name]
    store = model.store()
    for text, ids in texts_of(model):
        scores = model.run(store, Reading(), {"ids": ids})["logits"][:, 0]
        if len(ids) != len(text.split()) + 2:
            continue  # words of several tokens
        out = heed("tag", "--model", str(GOLDEN / model.group / name), text=text)
        found = out.split()
        expected = ["replaced" if float(score) > 0 else "original" for score in scores[1:-1]]
        if found != expected:
            failures.append(f"tag {name} {text!r}: {out!r} instead of {expected}")


def check_import(group, name, command, *options):
    """A directory of heed's own, made of the model, gives what the model gives."""
    with tempfile.TemporaryDirectory() as folder:
        source, own = str(GOLDEN / group / name), os.path.join(folder, "own")
        done = subprocess.run([HEED, "import", source, "--out", own], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        first, second = (heed(command, "--model", model, *options, text="the cat is on it") for model in (source, own))
        if first != second:
            failures.append(f"import {name}: {command} gives {second!r} instead of {first!r}")


def attempt(function, *arguments):
    try:
        function(*arguments)
    except RuntimeError as error:
        failures.append(f"{function.__name__} {' '.join(arguments)}: {error}")


torch.set_num_threads(1)
for name in ("gpt2", "gpt2-pickled", "llama-tied", "llama-yarn-v5", "mistral", "qwen2", "qwen3", "smollm", "smollm3", "opt-350m",
             "stablelm-parallel", "gemma", "gemma-2", "gemma-3", "gpt-neox", "opt", "opt-shards", "phi-3", "stablelm"):
    attempt(check_generate, name)
for name in ("marian-apart", "t5", "t5-1.1", "mt5"):
    attempt(check_translate, name)
for name in ("t5", "t5-1.1"):
    attempt(check_rules, name)
attempt(check_translate, "mbart-25", "--source-language", "en_XX", "--target-language", "de_DE")
attempt(check_embed, "sentence-minilm", "--pooling", "mean", "--normalize")
attempt(check_embed, "sentence-cls", "--pooling", "first", "--normalize")
for name in ("bert-sequence", "roberta-sequence", "distilbert-sequence", "electra-sequence"):
    attempt(check_classify, name)
attempt(check_discriminator, "electra")
attempt(check_embed, "sentence-minilm")
attempt(check_embed, "sentence-cls")
attempt(check_embed, "sentence-dense")
attempt(check_embed, "sentence-max")
attempt(check_pickled_dense, "sentence-dense")
for name, head in (("gpt2", "transformer.wte.weight"), ("llama", "lm_head.weight"), ("qwen3", "model.embed_tokens.weight"),
                   ("opt", "model.decoder.embed_tokens.weight")):
    attempt(check_embed_decoder, name, head)
for name in ("bart", "marian-apart", "t5", "mt5", "nllb"):
    attempt(check_embed_source, name)
attempt(check_prompts, "sentence-minilm")
attempt(check_decoder_pipeline, "llama")
for name in ("bert-masked", "roberta-masked", "distilbert-masked", "electra-masked", "albert-masked"):
    attempt(check_fill, name)
attempt(check_generate, "llama")
attempt(check_generate, "gemma-3-v5")
for model in sorted(path.parent.name for path in (GOLDEN / "decoders").glob("*/config.json")):
    attempt(check_import, "decoders", model, "generate", "--prompt", "the cat", "--temperature", "0", "--max-tokens", "8")
for model in sorted(path.parent.name for path in (GOLDEN / "encoder_decoders").glob("*/config.json")):
    attempt(check_import, "encoder_decoders", model, "translate", "--beam", "4", "--scores", *LANGUAGES.get(model, ()))
for model in sorted(path.parent.name for path in (GOLDEN / "encoders").glob("*/config.json")):
    attempt(check_import, "encoders", model, "embed")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
