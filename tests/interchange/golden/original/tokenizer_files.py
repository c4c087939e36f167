"""Small tokenizers in the files of each family, loaded by the library itself."""

import contextlib
import io
import json
import os
import pathlib
import shutil

import tokenizers as tk
import transformers as tf
from corpus import MODEL_TEXTS, SENTENCES, TEXTS
from log import last_line, note

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
