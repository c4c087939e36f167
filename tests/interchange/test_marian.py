"""A folder of Marian's own: weights in .npz, vocab.yml, decoder.yml and a lexical shortlist, with what numpy computes."""

import os
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

HEED = os.environ["HEED_BINARY"]
TOKENS = ["</s>", "<unk>", "the", "cat", "runs", ",", "die", "katze", "läuft", "ho@@", "me"]
WIDTH, HEADS, INNER = 8, 2, 16
SETTINGS = {"type": "transformer", "dim-emb": WIDTH, "enc-depth": 1, "dec-depth": 1, "transformer-heads": HEADS,
            "transformer-dim-ffn": INNER, "tied-embeddings-all": "true", "transformer-ffn-activation": "relu"}
random = numpy.random.default_rng(7)


def weights():
    w = {"Wemb": random.normal(0, 0.5, (len(TOKENS), WIDTH)),
         "decoder_ff_logit_out_b": random.normal(0, 1, (1, len(TOKENS)))}
    for name in ("encoder_l1_self", "decoder_l1_self", "decoder_l1_context"):
        for matrix in "qkvo":
            w[f"{name}_W{matrix}"] = random.normal(0, 0.6, (WIDTH, WIDTH))
            w[f"{name}_b{matrix}"] = random.normal(0, 0.3, (1, WIDTH))
        norm(w, f"{name}_Wo")
    for stack in ("encoder", "decoder"):
        w[f"{stack}_l1_ffn_W1"] = random.normal(0, 0.6, (WIDTH, INNER))
        w[f"{stack}_l1_ffn_b1"] = random.normal(0, 0.3, (1, INNER))
        w[f"{stack}_l1_ffn_W2"] = random.normal(0, 0.6, (INNER, WIDTH))
        w[f"{stack}_l1_ffn_b2"] = random.normal(0, 0.3, (1, WIDTH))
        norm(w, f"{stack}_l1_ffn_ffn")
    return {name: value.astype("<f4") for name, value in w.items()}


def norm(w, name):
    w[f"{name}_ln_scale"] = random.normal(1, 0.2, (1, WIDTH))
    w[f"{name}_ln_bias"] = random.normal(0, 0.2, (1, WIDTH))


def layer_norm(w, name, x):
    x = x - x.mean(-1, keepdims=True)
    return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w[f"{name}_ln_scale"] + w[f"{name}_ln_bias"]


def attention(w, name, x, memory, causal):
    def heads(matrix, rows):
        rows = rows @ w[f"{name}_W{matrix}"] + w[f"{name}_b{matrix}"]
        return rows.reshape(len(rows), HEADS, WIDTH // HEADS).transpose(1, 0, 2)
    scores = heads("q", x) @ heads("k", memory).transpose(0, 2, 1) / numpy.sqrt(WIDTH // HEADS)
    if causal:
        scores = numpy.where(numpy.tri(len(x), dtype=bool), scores, -1e9)
    share = numpy.exp(scores - scores.max(-1, keepdims=True))
    mixed = (share / share.sum(-1, keepdims=True) @ heads("v", memory)).transpose(1, 0, 2).reshape(len(x), WIDTH)
    return layer_norm(w, f"{name}_Wo", x + mixed @ w[f"{name}_Wo"] + w[f"{name}_bo"])


def feed_forward(w, stack, x):
    inner = numpy.maximum(x @ w[f"{stack}_l1_ffn_W1"] + w[f"{stack}_l1_ffn_b1"], 0)
    return layer_norm(w, f"{stack}_l1_ffn_ffn", x + inner @ w[f"{stack}_l1_ffn_W2"] + w[f"{stack}_l1_ffn_b2"])


def positions(count):
    angles = numpy.arange(count)[:, None] * 10000.0 ** -(numpy.arange(WIDTH // 2) / (WIDTH // 2 - 1))
    return numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], 1)


def logits(w, source, target):
    """Rows of logits for target + </s>; decoding begins with a vector of zeros."""
    w = {name: value.astype(numpy.float64) for name, value in w.items()}
    x = w["Wemb"][source + [0]] * numpy.sqrt(WIDTH) + positions(len(source) + 1)
    memory = feed_forward(w, "encoder", attention(w, "encoder_l1_self", x, x, False))
    y = numpy.concatenate([numpy.zeros((1, WIDTH)), w["Wemb"][target] * numpy.sqrt(WIDTH)]) + positions(len(target) + 1)
    y = attention(w, "decoder_l1_self", y, y, True)
    y = feed_forward(w, "decoder", attention(w, "decoder_l1_context", y, memory, False))
    return y @ w["Wemb"].T + w["decoder_ff_logit_out_b"]


def score(w, source, target, among=None):
    """The sum of log-probabilities, normalized over the tokens `among`."""
    rows = logits(w, source, target)
    if among is not None:
        rows = numpy.where(numpy.isin(numpy.arange(len(TOKENS)), list(among)), rows, -numpy.inf)
    rows = rows - rows.max(-1, keepdims=True)
    rows = rows - numpy.log(numpy.exp(rows).sum(-1, keepdims=True))
    return sum(rows[i, token] for i, token in enumerate(target + [0]))


def greedy(w, source, among, most):
    written = []
    while len(written) < most:
        row = numpy.where(numpy.isin(numpy.arange(len(TOKENS)), list(among)), logits(w, source, written)[-1], -numpy.inf)
        if row.argmax() == 0:
            break
        written.append(int(row.argmax()))
    return written


def binary_shortlist(frequent, lists):
    ends, targets = [0], []
    for token in range(len(TOKENS)):
        targets += lists.get(token, [])
        ends.append(len(targets))
    body = struct.pack("<4Q", frequent, 2, len(ends), len(targets))
    body += struct.pack(f"<{len(ends)}Q", *ends) + struct.pack(f"<{len(targets)}I", *targets)
    total = 0
    for (word,) in struct.iter_unpack("<Q", body[:len(body) // 8 * 8]):
        total ^= (word + 0x9E3779B9 + (total << 6) + (total >> 2)) & 0xFFFFFFFFFFFFFFFF
        total &= 0xFFFFFFFFFFFFFFFF
    return struct.pack("<2Q", 0xF11A48D5013417F5, total) + body


def write_folder(folder, w):
    settings = "".join(f"{key}: {value}\n" for key, value in SETTINGS.items())
    numpy.savez(folder / "model.npz", **w, **{"special:model.yml": numpy.frombuffer(settings.encode() + b"\0", "i1")})
    (folder / "vocab.yml").write_text("".join(f'"{token}": {id}\n' for id, token in enumerate(TOKENS)))
    (folder / "decoder.yml").write_text("relative-paths: true\nmodels: [model.npz]\nvocabs: [vocab.yml, vocab.yml]\n"
                                        "beam-size: 1\nnormalize: 0\nshortlist: [lex.bin, false]\nword-penalty: 0\n")
    (folder / "lex.bin").write_bytes(binary_shortlist(3, LISTS))
    (folder / "lex.txt").write_text("".join(f"{TOKENS[target]} {TOKENS[source]} {0.9 - i / 4}\n"
                                            for source, targets in LISTS.items() for i, target in enumerate(targets)))


# die: the; katze: cat, ho@@; läuft: runs.
LISTS = {6: [2], 7: [3, 9], 8: [4]}
failures = []


def heed(*arguments, text=""):
    done = subprocess.run([HEED, *map(str, arguments)], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        failures.append(f"heed {arguments}: {done.stderr.strip()}")
    return done.stdout.rstrip("\n")


def check(what, found, expected):
    if found != expected:
        failures.append(f"{what}: {found!r} instead of {expected!r}")


def check_score(what, found, expected):
    if abs(float(found) - expected) > 2e-5 * abs(expected):
        failures.append(f"{what}: {found} instead of {expected}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    w = weights()
    write_folder(folder, w)
    model = ("--model", folder, "--precision", "f32", "--threads", 1)
    source, target = [6, 7, 8], [2, 3, 9, 10, 5]
    source_text, target_text = (" ".join(TOKENS[id] for id in ids) for ids in (source, target))
    (folder / "source").write_text(source_text + "\n")
    (folder / "target").write_text(target_text + "\n")
    pair = ("--source", folder / "source", "--target", folder / "target")
    check_score("heed score", heed("score", *model, *pair).split()[0], score(w, source, target))

    # Every sentence may use the first three tokens; source and target share their vocabulary, so what it has too.
    candidates = {0, 1, 2, *source, 3, 4, 9}
    everything = set(range(len(TOKENS)))
    for line in ([6, 7, 8], [7, 6, 7, 2], [8, 8]):
        text = " ".join(TOKENS[id] for id in line)
        for options, among in (((), everything), (("--shortlist", folder / "lex.bin"), None),
                               (("--shortlist", folder / "lex.txt"), None)):
            if among is None:
                frequent = {0, 1, 2} if options[1].name == "lex.bin" else everything
                among = {*frequent, *line, *(target for id in line for target in LISTS.get(id, []))}
            expected = greedy(w, line, among, 7)
            found = heed("translate", *model, "--max-tokens", 8, "--scores", *options, text=text + "\n")
            written, value = found.rsplit("\t", 1)
            check(f"translate {text} {options}", written.split()[:7], [TOKENS[id] for id in expected])
            if len(expected) < 7:
                check_score(f"score {text} {options}", value, score(w, line, expected, among))
    inspected = heed("inspect", folder)
    for part in ("lex.bin, false (where --shortlist names it)", "word-penalty"):
        if part not in inspected:
            failures.append(f"heed inspect does not say '{part}'")
    heed("import", folder, "--out", folder / "imported")
    for shortlist in ((), ("--shortlist", folder / "lex.bin")):
        check("translations after heed import",
              heed("translate", "--model", folder / "imported", *model[2:], *shortlist, text=source_text + "\n"),
              heed("translate", *model, *shortlist, text=source_text + "\n"))

print("\n".join(failures))
sys.exit(bool(failures))
