#!/usr/bin/env python3
"""make.py [--existing DIR] [--out FILE.tar.gz] [--only NAME ...]: small random models by the original libraries.

Needs transformers 5, tokenizers, sentencepiece, sentence-transformers and PyTorch; no network. Each model is a folder
GROUP/NAME of the archive as save_pretrained writes it, with golden.json (what the model computes in double: logits,
hidden states, greedy and beam continuations) and texts.json (what its tokenizer makes of texts). `--existing` checks
the models of another folder, made from published definitions, against the original library: existing.json.

The library computes norms, softmax and angles in f32 even in a model of doubles. For golden values it runs with
torch.float32 standing for torch.float64 (class Exact); how much that changes is in golden.json as "by_f32".
"""

import argparse
import collections
import contextlib
import copy
import io
import json
import math
import multiprocessing
import os
import pathlib
import shutil
import sys
import tarfile
import time
import traceback

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_DATASETS_OFFLINE="1", TOKENIZERS_PARALLELISM="false",
                  HF_HOME="/tmp/original_golden_home", TRANSFORMERS_VERBOSITY="error", CUDA_VISIBLE_DEVICES="",
                  HF_HUB_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_PROGRESS_BARS="1")

import numpy as np  # noqa: E402
import torch  # noqa: E402

torch.set_num_threads(1)
torch.set_grad_enabled(False)

import tokenizers as tk  # noqa: E402
import transformers as tf  # noqa: E402

STARTED = time.time()
LOG = []


def note(text):
    LOG.append(f"{time.time() - STARTED:6.1f} {text}")
    print(LOG[-1], flush=True)


def last_line(error):
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{pathlib.Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__} at {where}: {str(error)[:300]}"


# ---------------------------------------------------------------- double instead of f32

class Exact:
    """Within it, what the library asks to be f32 is f64."""

    def __enter__(self):
        self.saved = torch.float32, torch.float, torch.get_default_dtype()
        torch.float32 = torch.float = torch.float64
        torch.Tensor.float = lambda self, *a, **k: self.double()
        torch.set_default_dtype(torch.float64)

    def __exit__(self, *_):
        torch.float32, torch.float, default = self.saved
        del torch.Tensor.float
        torch.set_default_dtype(default)


def sinusoids(rows, width):
    """Marian's and Pegasus's table, as these classes fill it, without their rounding to f32."""
    position = np.array([[p / 10000 ** (2 * (j // 2) / width) for j in range(width)] for p in range(rows)])
    half = (width + 1) // 2
    table = np.zeros((rows, width))
    table[:, :half], table[:, half:] = np.sin(position[:, 0::2]), np.cos(position[:, 1::2])
    return torch.from_numpy(table)


def eager(config):
    with contextlib.suppress(Exception):
        config._attn_implementation = "eager"
    for part in ("text_config", "encoder", "decoder"):
        inner = getattr(config, part, None)
        if inner is not None and hasattr(inner, "to_dict"):
            eager(inner)
    return config


def take_parameters(model, plain):
    """Those of `plain` as doubles; what is one tensor there is one here, and nothing else is."""
    copies = {}

    def copied(value):
        if id(value) not in copies:
            copies[id(value)] = value, torch.nn.Parameter(value.detach().double().clone(), requires_grad=False)
        return copies[id(value)][1]

    for name, module in plain.named_modules():
        mine = model.get_submodule(name)
        for key, value in module._parameters.items():
            if value is not None:
                mine._parameters[key] = copied(value)
        for key in module._buffers:
            if key in module.state_dict() and module._buffers[key] is not None:
                mine._buffers[key] = module._buffers[key].detach().double().clone() \
                    if module._buffers[key].is_floating_point() else module._buffers[key].clone()


def exact_model(plain, folder):
    """The same model, built anew so that its tables of angles are doubles."""
    config = eager(tf.AutoConfig.from_pretrained(folder))
    with Exact():
        model = type(plain)(config).double().eval()
        take_parameters(model, plain)
        for module in model.modules():
            table = getattr(module, "weight", None)
            if "Sinusoidal" in type(module).__name__ and isinstance(table, torch.Tensor):
                better = sinusoids(*table.shape)
                if torch.allclose(table.double(), better, atol=1e-5):
                    table.copy_(better)
    if hasattr(plain, "generation_config"):
        model.generation_config = copy.deepcopy(plain.generation_config)
    return model


# ---------------------------------------------------------------- running models

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
    """Of many long rows of logits some, whose numbers are the case's "rows"."""
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


# ---------------------------------------------------------------- weights

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


# ---------------------------------------------------------------- tokenizers

SENTENCES = """
The cat sat on the mat and the dog ran to the sea.
A small house stands near the old river in the north.
She sells fresh bread, and he reads the letters again.
No one knows where the road ends, but it is long.
In the morning the sun rises over the hills and the sea.
They don't think that we'll see the end of it, do they?
He said: "It's 12 or\t345 miles from here."
Two dogs and three cats are in the garden near the inn.
Reading and writing are hard; running is harder still.
The children were singing an old song on the train.
Die Katze saß auf der Straße über dem Fluß.
Un café crème et deux gâteaux, s'il vous plaît.
ending, standing, sending, landing, handing, bending
the the the and and of to in on at is it he she we they
Rain falls on the town, and the trees are green again.
One hundred and twenty men stood there in 1999 and 2024.
""".strip().split("\n")

TEXTS = [
    "The cat sat on the mat.",
    "no one ends the song in the garden",
    "  Two  dogs,\tand he'll see\nthe sea ",
    "Straße über café crème",
    "東京 is big 😀 e\u0301 12345!",
    "",
    "The <s>end</s> of [MASK] <mask> and <|endoftext|> it<pad>",
    "near the old river",
]
MODEL_TEXTS = [
    "The children were singing an old song on the train, and two dogs ran to the sea near the old inn.",
    "a cat in the garden",
]
WORK = pathlib.Path("/tmp/original_golden_work")


def fresh(name):
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def settings_file(folder, kind, **more):
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind, **more}))


def loaded(folder, kind, fallback):
    """The library's own class on a folder of the older files, else what `fallback` makes."""
    tries = [lambda: tf.AutoTokenizer.from_pretrained(str(folder)),
             lambda: getattr(tf, kind).from_pretrained(str(folder)), fallback]
    for i, attempt in enumerate(tries):
        if attempt is None:
            continue
        try:
            tokenizer = attempt()
            if tokenizer is None or len(tokenizer) < 20:
                raise ValueError(f"only {len(tokenizer)} tokens")
            if not any(len(tokenizer(t)["input_ids"]) > 2 for t in TEXTS[:2]):
                raise ValueError("no tokens")
            return tokenizer
        except Exception as error:
            note(f"  tokenizer {kind}, way {i + 1}: {last_line(error)}")
    raise RuntimeError(f"no tokenizer {kind}")


def trained_bytes(size, specials, whole_alphabet=False):
    tokenizer = tk.Tokenizer(tk.models.BPE())
    tokenizer.pre_tokenizer = tk.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tk.decoders.ByteLevel()
    alphabet = tk.pre_tokenizers.ByteLevel.alphabet() if whole_alphabet else []
    trainer = tk.trainers.BpeTrainer(vocab_size=size, special_tokens=specials, initial_alphabet=alphabet,
                                     show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return tokenizer


def bpe_files(folder, tokenizer):
    model = json.loads(tokenizer.to_str())["model"]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"], ensure_ascii=False), encoding="utf-8")
    lines = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return model


def byte_level(kind, specials, roles, size=130, whole=False, at_end=False, **more):
    def make(name):
        folder = fresh(name)
        trained = trained_bytes(size, [] if at_end else specials, whole)
        if at_end:
            trained.add_special_tokens(specials)
        bpe_files(folder, trained)
        if at_end:
            vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
            for special in specials:
                vocabulary.setdefault(special, len(vocabulary))
            (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
        settings_file(folder, kind, **roles, **more)

        def fallback():
            return tf.PreTrainedTokenizerFast(tokenizer_object=trained, **roles)
        return loaded(folder, kind, fallback), folder
    return make


def llama3_form(name):
    folder = fresh(name)
    specials = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"]
    pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
               r"\s*[\r\n]+|\s+(?!\S)|\s+")
    tokenizer = tk.Tokenizer(tk.models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = tk.pre_tokenizers.Sequence([
        tk.pre_tokenizers.Split(tk.Regex(pattern), "isolated"),
        tk.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = tk.decoders.ByteLevel()
    tokenizer.train_from_iterator(SENTENCES, tk.trainers.BpeTrainer(vocab_size=140, show_progress=False))
    tokenizer.add_special_tokens(specials)
    begin = tokenizer.token_to_id(specials[0])
    tokenizer.post_processor = tk.processors.Sequence([
        tk.processors.ByteLevel(trim_offsets=False),
        tk.processors.TemplateProcessing(single=f"{specials[0]} $A", pair=f"{specials[0]} $A {specials[0]}:1 $B:1",
                                         special_tokens=[(specials[0], begin)])])
    return tf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=specials[0], eos_token=specials[2]), folder


def word_piece(kind, specials, roles, **more):
    def make(name):
        folder = fresh(name)
        tokenizer = tk.Tokenizer(tk.models.WordPiece(unk_token=roles["unk_token"]))
        tokenizer.normalizer = tk.normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = tk.pre_tokenizers.BertPreTokenizer()
        tokenizer.train_from_iterator(SENTENCES, tk.trainers.WordPieceTrainer(
            vocab_size=130, special_tokens=specials, show_progress=False))
        tokens = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
        (folder / "vocab.txt").write_text("".join(t + "\n" for t, _ in tokens), encoding="utf-8")
        settings_file(folder, kind, do_lower_case=True, **roles, **more)

        def fallback():
            first, last = roles["cls_token"], roles["sep_token"]
            tokenizer.post_processor = tk.processors.TemplateProcessing(
                single=f"{first} $A {last}", pair=f"{first} $A {last} $B:1 {last}:1",
                special_tokens=[(t, tokenizer.token_to_id(t)) for t in (first, last)])
            tokenizer.decoder = tk.decoders.WordPiece()
            return tf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **roles)
        return loaded(folder, kind, fallback), folder
    return make


BERT_SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
BERT_ROLES = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
              "mask_token": "[MASK]"}


def few_rules():
    """A few of the rules that published models have: theirs take 240 kB."""
    rules = ["9\t20", "A\t20", "D\t20", "A0\t20", "3000\t20", "200B\t20", "FB01\t66 69", "BD\t31 2044 32",
             "2026\t2E 2E 2E", "65 301\tE9", "61 300\tE0", "75 308\tFC", "AD\t"]
    rules += [f"{0xFF01 + i:X}\t{0x21 + i:X}" for i in range(94)]
    path = WORK / f"rules{os.getpid()}.tsv"
    WORK.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(rule + "\n" for rule in rules))
    return path


def sentence_pieces(path, kind="unigram", size=90, sentences=SENTENCES, **more):
    import sentencepiece
    writer = io.BytesIO()
    if more.setdefault("normalization_rule_name", "few") == "few":
        del more["normalization_rule_name"]
        more["normalization_rule_tsv"] = str(few_rules())
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences * 4), model_writer=writer, model_type=kind, vocab_size=size,
        hard_vocab_limit=kind != "unigram", character_coverage=1.0, minloglevel=2, num_threads=1, **more)
    path.write_bytes(writer.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=writer.getvalue())


def unigram_fallback(processor, roles, single=None):
    entries = [(processor.id_to_piece(i), processor.get_score(i)) for i in range(processor.get_piece_size())]
    tokenizer = tk.Tokenizer(tk.models.Unigram(entries, unk_id=processor.unk_id()))
    tokenizer.pre_tokenizer = tk.pre_tokenizers.Metaspace()
    tokenizer.decoder = tk.decoders.Metaspace()
    fast = tf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **roles)
    if single:
        names = [t for t in single.split() if not t.startswith("$")]
        fast.backend_tokenizer.post_processor = tk.processors.TemplateProcessing(
            single=single, special_tokens=[(t, fast.convert_tokens_to_ids(t)) for t in dict.fromkeys(names)])
    return fast


def spm_kind(kind, file, train, roles=None, single=None, **more):
    def make(name):
        folder = fresh(name)
        processor = sentence_pieces(folder / file, **train)
        settings_file(folder, kind, **more)
        fallback = None if roles is None else lambda: unigram_fallback(processor, roles, single)
        return loaded(folder, kind, fallback), folder
    return make


T5_PIECES = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
T5_ROLES = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
FAIRSEQ_ROLES = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
                 "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
LLAMA_PIECES = dict(kind="bpe", size=360, byte_fallback=True, unk_id=0, bos_id=1, eos_id=2, pad_id=-1,
                    split_digits=True, normalization_rule_name="identity", remove_extra_whitespaces=False)


def marian_files(apart):
    def make(name):
        folder = fresh(name)
        pieces = []
        for i, file in enumerate(("source.spm", "target.spm")):
            part = SENTENCES[:10] if i == 0 else SENTENCES[6:]
            # The target's vocabulary is the larger one: the source's padding must be a row of both tables.
            p = sentence_pieces(folder / file, size=(55, 80)[i], sentences=part, bos_id=-1)
            pieces.append([p.id_to_piece(k) for k in range(p.get_piece_size())])

        def vocabulary(lists):
            names = ["</s>", "<unk>", *(t for one in lists for t in one if t not in ("</s>", "<unk>", "<s>")), "<pad>"]
            return {t: i for i, t in enumerate(dict.fromkeys(names))}
        if apart:
            # The library's beam search takes the source's vocabulary for the target's size: let both be equal.
            most = max(map(len, pieces))
            for one in pieces:
                one += [f"<filler{i}>" for i in range(most - len(set(one) - {"</s>", "<unk>", "<s>"}))]
            (folder / "vocab.json").write_text(json.dumps(vocabulary(pieces[:1]), ensure_ascii=False))
            (folder / "target_vocab.json").write_text(json.dumps(vocabulary(pieces[1:]), ensure_ascii=False))
        else:
            (folder / "vocab.json").write_text(json.dumps(vocabulary([[">>deu<<", ">>fra<<"], *pieces]),
                                                          ensure_ascii=False))
        settings_file(folder, "MarianTokenizer", source_lang="en", target_lang="de", separate_vocabs=apart,
                      model_max_length=512)
        return loaded(folder, "MarianTokenizer", None), folder
    return make


def m2m_files(name):
    folder = fresh(name)
    p = sentence_pieces(folder / "sentencepiece.bpe.model", size=80)
    names = ["<s>", "<pad>", "</s>", "<unk>", *(p.id_to_piece(i) for i in range(p.get_piece_size()))]
    (folder / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(dict.fromkeys(names))},
                                                  ensure_ascii=False))
    settings_file(folder, "M2M100Tokenizer", src_lang="en", tgt_lang="de", language_codes="m2m100")
    return loaded(folder, "M2M100Tokenizer", None), folder


NLLB_LANGUAGES = ["deu_Latn", "eng_Latn", "fra_Latn"]


def nllb_files(name):
    folder = fresh(name)
    sentence_pieces(folder / "sentencepiece.bpe.model", kind="bpe", size=110)
    settings_file(folder, "NllbTokenizer", src_lang="eng_Latn", tgt_lang="deu_Latn", legacy_behaviour=False,
                  additional_special_tokens=NLLB_LANGUAGES, extra_special_tokens=NLLB_LANGUAGES)
    tokenizer = loaded(folder, "NllbTokenizer", None)
    lacking = [t for t in NLLB_LANGUAGES if tokenizer.convert_tokens_to_ids(t) in (None, tokenizer.unk_token_id)]
    if lacking:
        note(f"  nllb lacks {lacking}")
        tokenizer.add_tokens([tk.AddedToken(t, special=True, normalized=False) for t in lacking], special_tokens=True)
    for step in (lambda: setattr(tokenizer, "src_lang", "eng_Latn"),
                 lambda: tokenizer.set_src_lang_special_tokens("eng_Latn")):
        try:
            step()
        except Exception as error:
            note(f"  nllb: {last_line(error)}")
    return tokenizer, folder


def described(tokenizer):
    """texts.json: ids as the tokenizer itself frames them, and what its tokenizers object says of them."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    lines = []
    for i, text in enumerate([*TEXTS, *MODEL_TEXTS]):
        entry = {"text": text, "ids": list(tokenizer(text)["input_ids"])}
        with contextlib.suppress(Exception):
            entry["tokens"] = list(tokenizer.convert_ids_to_tokens(entry["ids"]))
        with contextlib.suppress(Exception):
            # An empty second text counts as none.
            other = TEXTS[(i + 1) % len(TEXTS)] or TEXTS[0]
            both = tokenizer(text, other)
            entry["pair"], entry["pair_with"] = list(both["input_ids"]), other
            if "token_type_ids" in both:
                entry["pair_types"] = list(both["token_type_ids"])
        with contextlib.suppress(Exception):
            entry["decoded"] = tokenizer.decode(entry["ids"], skip_special_tokens=False)
            entry["decoded_without_special"] = tokenizer.decode(entry["ids"], skip_special_tokens=True)
        if backend is not None:
            with contextlib.suppress(Exception):
                bare = backend.encode(text, add_special_tokens=False)
                entry["bare"], entry["offsets"] = bare.ids, [list(o) for o in bare.offsets]
        lines.append(json.dumps(entry, ensure_ascii=False, separators=(",", ":")))
    return "[\n" + ",\n".join(lines) + "\n]\n"


# ---------------------------------------------------------------- the families

Family = collections.namedtuple("Family", "group name cls config make_config tokenizer dtype generation target heads")
FAMILIES = []


def family(group, name, cls, config, arguments, tokenizer, dtype="float32", generation=None, target=None, **heads):
    FAMILIES.append(Family(group, name, cls, config, arguments, tokenizer, dtype, generation, target, heads))


def rope(theta=10000.0, kind="default", **more):
    return {"rope_type": kind, "rope_theta": theta, **more}


GPT2_ROLES = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}
GPT2_TOKENS = byte_level("GPT2Tokenizer", ["<|endoftext|>"], GPT2_ROLES, size=300, whole=True)
QWEN_TOKENS = byte_level("Qwen2Tokenizer", ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
                         {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>", "unk_token": None}, at_end=True)
NEOX_TOKENS = byte_level("GPTNeoXTokenizer", ["<|endoftext|>", "<|padding|>"], GPT2_ROLES)
ROBERTA_SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
OPT_TOKENS = byte_level("GPT2Tokenizer", ["<s>", "<pad>", "</s>", "<unk>"],
                        {"bos_token": "</s>", "eos_token": "</s>", "unk_token": "</s>", "pad_token": "<pad>"},
                        add_bos_token=True)
LLAMA_TOKENS = spm_kind("LlamaTokenizer", "tokenizer.model", LLAMA_PIECES,
                        {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}, "<s> $A",
                        legacy=False, add_bos_token=True, add_eos_token=False)
GEMMA_TOKENS = spm_kind("GemmaTokenizer", "tokenizer.model",
                        {**LLAMA_PIECES, "pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3, "bos_piece": "<bos>",
                         "eos_piece": "<eos>"},
                        {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>", "pad_token": "<pad>"},
                        "<bos> $A")

D = dict(hidden_size=32, intermediate_size=44, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
         max_position_embeddings=256, rms_norm_eps=1e-5)

family("decoders", "llama", "LlamaForCausalLM", "LlamaConfig",
       dict(D, rope_parameters=rope(500000.0, "llama3", factor=8.0, high_freq_factor=4.0, low_freq_factor=1.0,
                                    original_max_position_embeddings=64)), llama3_form, "bfloat16")
family("decoders", "llama-linear", "LlamaForCausalLM", "LlamaConfig",
       dict(D, rope_parameters=rope(10000.0, "linear", factor=2.5), attention_bias=True, mlp_bias=True,
            tie_word_embeddings=True, num_key_value_heads=1), LLAMA_TOKENS, "float16")
family("decoders", "llama-yarn", "LlamaForCausalLM", "LlamaConfig",
       dict(D, rope_parameters=rope(10000.0, "yarn", factor=4.0, original_max_position_embeddings=64), head_dim=12),
       LLAMA_TOKENS, "bfloat16")
family("decoders", "mistral", "MistralForCausalLM", "MistralConfig",
       dict(D, sliding_window=6, head_dim=6, rope_parameters=rope(1000000.0)), LLAMA_TOKENS, "bfloat16")
family("decoders", "qwen2", "Qwen2ForCausalLM", "Qwen2Config",
       dict(D, rope_parameters=rope(1000000.0), tie_word_embeddings=True), QWEN_TOKENS, "bfloat16")
family("decoders", "qwen2-windows", "Qwen2ForCausalLM", "Qwen2Config",
       dict(D, num_hidden_layers=3, use_sliding_window=True, sliding_window=5, max_window_layers=1,
            rope_parameters=rope(1000000.0)), QWEN_TOKENS, "bfloat16")
family("decoders", "qwen2-yarn", "Qwen2ForCausalLM", "Qwen2Config",
       dict(D, rope_parameters=rope(1000000.0, "yarn", factor=4.0, original_max_position_embeddings=64)), QWEN_TOKENS,
       "bfloat16")
family("decoders", "qwen3", "Qwen3ForCausalLM", "Qwen3Config",
       dict(D, head_dim=12, rope_parameters=rope(1000000.0), tie_word_embeddings=True), QWEN_TOKENS, "bfloat16")
family("decoders", "phi-3", "Phi3ForCausalLM", "Phi3Config",
       dict(D, sliding_window=7, original_max_position_embeddings=256, pad_token_id=2, rope_parameters=rope(20000.0)),
       LLAMA_TOKENS, "bfloat16")
family("decoders", "gemma", "GemmaForCausalLM", "GemmaConfig",
       dict(D, head_dim=12, num_key_value_heads=1, rope_parameters=rope()), GEMMA_TOKENS, "bfloat16")
family("decoders", "gemma-2", "Gemma2ForCausalLM", "Gemma2Config",
       dict(D, num_hidden_layers=3, head_dim=12, query_pre_attn_scalar=20, sliding_window=6,
            attn_logit_softcapping=4.0, final_logit_softcapping=6.0, rope_parameters=rope()), GEMMA_TOKENS, "bfloat16")
family("decoders", "gemma-3", "Gemma3ForCausalLM", "Gemma3TextConfig",
       dict(D, num_hidden_layers=4, head_dim=12, query_pre_attn_scalar=20, sliding_window=6,
            layer_types=["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"],
            rope_parameters={"full_attention": rope(1000000.0, "linear", factor=2.0),
                             "sliding_attention": rope(10000.0)}), GEMMA_TOKENS, "bfloat16")
family("decoders", "gpt2", "GPT2LMHeadModel", "GPT2Config",
       dict(n_embd=16, n_layer=2, n_head=4, n_positions=64), GPT2_TOKENS)
family("decoders", "gpt2-inner", "GPT2LMHeadModel", "GPT2Config",
       dict(n_embd=16, n_layer=2, n_head=2, n_positions=64, n_inner=28, activation_function="gelu"),
       byte_level("GPT2Tokenizer", ["<|endoftext|>"], GPT2_ROLES), "float16")
NEOX = dict(hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=128, hidden_act="gelu")
family("decoders", "gpt-neox", "GPTNeoXForCausalLM", "GPTNeoXConfig",
       dict(NEOX, rope_parameters=rope(10000.0, partial_rotary_factor=0.25)), NEOX_TOKENS, "float16")
family("decoders", "gpt-neox-serial", "GPTNeoXForCausalLM", "GPTNeoXConfig",
       dict(NEOX, use_parallel_residual=False, rope_parameters=rope(10000.0, partial_rotary_factor=1.0)), NEOX_TOKENS,
       "float16")
OPT = dict(hidden_size=16, ffn_dim=28, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64,
           word_embed_proj_dim=16)
family("decoders", "opt", "OPTForCausalLM", "OPTConfig", OPT, OPT_TOKENS, "float16")
family("decoders", "opt-post", "OPTForCausalLM", "OPTConfig", dict(OPT, do_layer_norm_before=False), OPT_TOKENS)
STABLE = dict(hidden_size=32, intermediate_size=28, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
              max_position_embeddings=128, rope_parameters=rope(20000.0, partial_rotary_factor=0.5))
family("decoders", "stablelm", "StableLmForCausalLM", "StableLmConfig", dict(STABLE, use_qkv_bias=True), NEOX_TOKENS,
       "float16")
family("decoders", "stablelm-parallel", "StableLmForCausalLM", "StableLmConfig",
       dict(STABLE, use_parallel_residual=True, num_key_value_heads=4), NEOX_TOKENS, "float16")

BART = dict(d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=28, decoder_ffn_dim=28, max_position_embeddings=160)
BART_TOKENS = byte_level("BartTokenizer", ROBERTA_SPECIALS, FAIRSEQ_ROLES)
family("encoder_decoders", "bart", "BartForConditionalGeneration", "BartConfig", BART, BART_TOKENS, "float16",
       dict(num_beams=4, forced_bos_token_id="<s>", forced_eos_token_id="</s>", no_repeat_ngram_size=3,
            early_stopping=True, length_penalty=2.0, min_length=3, max_length=18))
family("encoder_decoders", "mbart-25", "MBartForConditionalGeneration", "MBartConfig",
       dict(BART, scale_embedding=True, decoder_layers=1),
       spm_kind("MBartTokenizer", "sentencepiece.bpe.model", {}, src_lang="en_XX", tgt_lang="de_DE"), "float16",
       dict(num_beams=5, early_stopping=True, decoder_start_token_id="de_DE", forced_eos_token_id="</s>",
            max_length=16))
family("encoder_decoders", "mbart-50", "MBartForConditionalGeneration", "MBartConfig",
       dict(BART, scale_embedding=True),
       spm_kind("MBart50Tokenizer", "sentencepiece.bpe.model", {}, src_lang="en_XX", tgt_lang="de_DE"), "float16",
       dict(num_beams=5, early_stopping=True, decoder_start_token_id="</s>", forced_bos_token_id="de_DE",
            forced_eos_token_id="</s>", max_length=16))
family("encoder_decoders", "marian", "MarianMTModel", "MarianConfig",
       dict(BART, scale_embedding=True, activation_function="swish"), marian_files(False), "float16",
       dict(num_beams=4, decoder_start_token_id="<pad>", bad_words_ids=["<pad>"], forced_eos_token_id="</s>",
            max_length=20))
family("encoder_decoders", "marian-apart", "MarianMTModel", "MarianConfig",
       dict(BART, scale_embedding=True, activation_function="relu", share_encoder_decoder_embeddings=False,
            decoder_layers=1), marian_files(True), "float16",
       dict(num_beams=6, decoder_start_token_id="<pad>", bad_words_ids=["<pad>"], max_length=20))
family("encoder_decoders", "m2m-100", "M2M100ForConditionalGeneration", "M2M100Config",
       dict(BART, scale_embedding=True, activation_function="relu"), m2m_files, "float16",
       dict(num_beams=5, early_stopping=True, decoder_start_token_id="</s>", forced_bos_token_id="__de__",
            max_length=16))
family("encoder_decoders", "nllb", "M2M100ForConditionalGeneration", "M2M100Config",
       dict(BART, scale_embedding=True, activation_function="relu", decoder_layers=1),
       nllb_files, "float16",
       dict(num_beams=1, decoder_start_token_id="</s>", forced_bos_token_id="deu_Latn", max_length=16))
family("encoder_decoders", "pegasus", "PegasusForConditionalGeneration", "PegasusConfig",
       dict(BART, scale_embedding=True, activation_function="relu"),
       spm_kind("PegasusTokenizer", "spiece.model", dict(T5_PIECES), T5_ROLES, "$A </s>"), "float16",
       dict(num_beams=8, length_penalty=0.8, decoder_start_token_id="<pad>", forced_eos_token_id="</s>",
            max_length=14))
T5 = dict(d_model=16, d_kv=6, d_ff=28, num_layers=2, num_decoder_layers=2, num_heads=3,
          relative_attention_num_buckets=8, relative_attention_max_distance=20)
T5_TOKENS = spm_kind("T5Tokenizer", "spiece.model", dict(T5_PIECES), T5_ROLES, "$A </s>", extra_ids=3)
family("encoder_decoders", "t5", "T5ForConditionalGeneration", "T5Config", dict(T5, feed_forward_proj="relu"),
       T5_TOKENS, "float32", dict(decoder_start_token_id="<pad>"))
family("encoder_decoders", "t5-1.1", "T5ForConditionalGeneration", "T5Config",
       dict(T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False, num_decoder_layers=1), T5_TOKENS,
       "bfloat16", dict(decoder_start_token_id="<pad>"))
family("encoder_decoders", "mt5", "MT5ForConditionalGeneration", "MT5Config",
       dict(T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False), T5_TOKENS, "bfloat16",
       dict(decoder_start_token_id="<pad>"))

BERT = dict(hidden_size=16, intermediate_size=28, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=160)
FEELINGS = dict(id2label={0: "negative", 1: "neutral", 2: "positive"},
                label2id={"negative": 0, "neutral": 1, "positive": 2})
BERT_TOKENS = word_piece("BertTokenizer", BERT_SPECIALS, BERT_ROLES)
for head, more in (("Model", {}), ("ForSequenceClassification", FEELINGS), ("ForTokenClassification", FEELINGS),
                   ("ForMaskedLM", {})):
    tail = {"Model": "", "ForSequenceClassification": "-sequence", "ForTokenClassification": "-token",
            "ForMaskedLM": "-masked"}[head]
    family("encoders", "bert" + tail, "Bert" + head, "BertConfig", dict(BERT, **more), BERT_TOKENS)
    family("encoders", "roberta" + tail, "Roberta" + head, "RobertaConfig", dict(BERT, type_vocab_size=1, **more),
           byte_level("RobertaTokenizer", ROBERTA_SPECIALS, FAIRSEQ_ROLES), "float16")
    family("encoders", "xlm-roberta" + tail, "XLMRoberta" + head, "XLMRobertaConfig",
           dict(BERT, type_vocab_size=1, **more),
           spm_kind("XLMRobertaTokenizer", "sentencepiece.bpe.model", dict(normalization_rule_name="nmt_nfkc"),
                    FAIRSEQ_ROLES, "<s> $A </s>"), "float16")
    family("encoders", "distilbert" + tail, "DistilBert" + head, "DistilBertConfig",
           dict(dim=16, hidden_dim=28, n_layers=2, n_heads=4, max_position_embeddings=160, **more),
           word_piece("DistilBertTokenizer", BERT_SPECIALS, BERT_ROLES), "float16")
    family("encoders", "electra" + tail, "Electra" + head, "ElectraConfig", dict(BERT, embedding_size=12, **more),
           word_piece("ElectraTokenizer", BERT_SPECIALS, BERT_ROLES), "float16")
    family("encoders", "albert" + tail, "Albert" + head, "AlbertConfig",
           dict(BERT, embedding_size=12, hidden_act="gelu_new", num_hidden_layers=3, **more),
           spm_kind("AlbertTokenizer", "spiece.model",
                    dict(pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, user_defined_symbols=["(", ")"],
                         control_symbols=["[CLS]", "[SEP]", "[MASK]"]),
                    {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "[CLS]", "sep_token": "[SEP]",
                     "mask_token": "[MASK]"}, "[CLS] $A [SEP]"), "float16")
    family("encoders", "mpnet" + tail, "MPNet" + head, "MPNetConfig", dict(BERT, **more),
           word_piece("MPNetTokenizer", ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"],
                      {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "[UNK]", "pad_token": "<pad>",
                       "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}), "float16")
family("encoders", "t5-encoder", "T5EncoderModel", "T5Config", dict(T5, feed_forward_proj="gated-gelu"), T5_TOKENS,
       "bfloat16")

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
    result = {"model": one.cls, "kind": kind, "tolerance": {"f64": 1e-8, "f32": 1e-4},
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


# ---------------------------------------------------------------- sentence-transformers

def sentence_modules():
    import sentence_transformers as st
    try:
        from sentence_transformers.models import Dense, Normalize, Pooling, Transformer
    except Exception:
        from sentence_transformers.base.modules.dense import Dense
        from sentence_transformers.base.modules.transformer import Transformer
        from sentence_transformers.sentence_transformer.modules.normalize import Normalize
        from sentence_transformers.sentence_transformer.modules.pooling import Pooling
    return st, Transformer, Pooling, Dense, Normalize


def sentence(name, source, out, pooling, prompts, with_dense, normalized=True):
    st, Transformer, Pooling, Dense, Normalize = sentence_modules()
    first = Transformer(str(out / "encoders" / source), max_seq_length=24)
    try:
        pool = Pooling(16, pooling_mode=pooling)
    except Exception:
        pool = Pooling(embedding_dimension=16, pooling_mode=pooling)
    modules = [first, pool]
    if with_dense:
        torch.manual_seed(7)
        modules.append(Dense(16, 10, activation_function=torch.nn.Tanh()))
    if normalized:
        modules.append(Normalize())
    try:
        model = st.SentenceTransformer(modules=modules, device="cpu", prompts=prompts)
    except Exception as error:
        note(f"  {name}: {last_line(error)}; without prompts")
        model = st.SentenceTransformer(modules=modules, device="cpu")
    folder = out / "encoders" / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save(str(folder))
    model = st.SentenceTransformer(str(folder), device="cpu", local_files_only=True).double().eval()
    result = {"model": "SentenceTransformer", "kind": "sentence-transformer", "tolerance": {"f64": 2e-6, "f32": 1e-4},
              "versions": {"sentence-transformers": st.__version__, "transformers": tf.__version__}, "texts": []}
    texts = [TEXTS[0], TEXTS[1], TEXTS[2], TEXTS[3], MODEL_TEXTS[0], MODEL_TEXTS[0] + " " + MODEL_TEXTS[1]]
    for prompt in [None, *prompts]:
        for text in texts:
            with Exact():
                vector = model.encode([text], prompt_name=prompt, convert_to_numpy=True, show_progress_bar=False)[0]
            entry = {"text": text, "embedding": rounded([float(v) for v in vector])}
            if prompt:
                entry["prompt"] = prompt
            result["texts"].append(entry)
    result["type"] = str(vector.dtype)
    (folder / "golden.json").write_text(golden_text(result), encoding="utf-8")
    note(f"encoders/{name}: {[type(m).__name__ for m in model]}, {vector.dtype}")


# ---------------------------------------------------------------- models made from published definitions

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


# ---------------------------------------------------------------- all of it

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
    """The results of all jobs; one that hangs or dies takes only itself along."""
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
