"""The kinds of models: what a golden case of each is, and how it is run and continued."""

import copy
import zlib

import encoders
import files
import generation
import pipelines
import torch
from parts import Reading, Store

TORCH_NAMES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}


class Model:
    """A small model of a family.

    `function` is its definition, `config` what config.json says; `rename` gives a tensor its name in the file, and
    None leaves it out; `extra` adds tensors that the library saves and nobody needs; `tokenizer` writes its files.
    `loud` names a tensor and the row of its end token, which is made to win more often;
    `seed` chooses weights with which the continuations say something.
    """

    def __init__(self, name, function, config, *, dtype=torch.float32, form="safetensors", shards=1, generation=None,
                 rename=None, extra=None, tokenizer=None, reserved=4, old=None, loud=None, seed=0):
        self.name, self.function, self.form, self.shards = name, function, form, shards
        self.dtype, self.generation, self.tokenizer = dtype, generation, tokenizer
        self.rename, self.extra = rename, extra
        self.reserved, self.loud, self.seed = reserved, loud, seed
        self.config = {**config, "torch_dtype": TORCH_NAMES[dtype], "transformers_version": "4.49.0"}
        self.saved = old or (lambda config: config)

    def store(self):
        return Store(f"{self.name} {self.seed}" if self.seed else self.name, self.dtype, self.loud)

    def saved_config(self):
        return self.saved(copy.deepcopy(self.config))

    def saved_tensors(self, store):
        """In the order of their first use; ties by name only where the library keeps both."""
        renamed = {(self.rename or (lambda name: name))(name): tensor for name, tensor in store.tensors.items()}
        renamed.pop(None, None)
        if self.extra:
            renamed.update(self.extra(self.config, renamed))
        return renamed

    def write_tokenizer(self, folder):
        if self.tokenizer:
            self.tokenizer(folder, self.config)

    def write_files(self, folder, store):
        """All but golden.json."""
        files.write_json(folder / "config.json", self.saved_config(), sort_keys=True)
        if self.generation:
            files.write_json(folder / "generation_config.json", self.generation, sort_keys=True)
        self.write_tokenizer(folder)
        files.write_weights(folder, self.saved_tensors(store), self.form, self.shards)
        self.write_more(folder, store)

    def write_more(self, folder, store):
        """Files beside the configuration, the weights and the tokenizer."""

    def draw(self, seed, count):
        """`count` ids of ordinary tokens."""
        generator = torch.Generator().manual_seed(zlib.crc32(f"{self.name}/{seed}".encode()))
        last = self.config["vocab_size"] - self.reserved
        return torch.randint(self.reserved, last, (count,), generator=generator).tolist()

    def more_outputs(self, store, case):
        """What a case has beside what run() gives."""
        return {}

    def continuations(self, store, attempts):
        return {}


class Decoder(Model):
    group, kind = "decoders", "decoder"

    @property
    def cases(self):
        return [{"ids": self.draw(0, 10)}, {"ids": self.draw(1, 3)}]

    def run(self, store, read, case):
        return {"logits": self.function(self.config, store, read, case["ids"])}

    def continuations(self, store, attempts):
        c = {**self.config, **(self.generation or {})}

        def logits_of(ids):
            return generation.last_row(self.function(self.config, store, Reading(), ids))

        def continued(seed):
            prompt = self.draw(f"prompt {seed}", 2 + seed % 4)
            return {"prompt": prompt, "new_tokens": 12,
                    "continuation": generation.greedy(logits_of, c, prompt, 12)}

        return {"greedy": attempts(range(100), continued, 2)}


class EncoderDecoder(Model):
    group, kind = "encoder_decoders", "encoder-decoder"

    def __init__(self, *arguments, first=None, last=None, **settings):
        super().__init__(*arguments, **settings)
        self.first, self.last = first, last

    @property
    def settings(self):
        return {**self.config, **(self.generation or {})}

    def start(self):
        return [self.settings["decoder_start_token_id"]]

    def source(self, seed, count):
        """As the family's tokenizer frames it: `first`, the text, its end, `last`."""
        ids = [self.first, *self.draw(seed, count), self.config["eos_token_id"], self.last]
        return [id for id in ids if id is not None]

    @property
    def cases(self):
        return [{"source": self.source(0, 10), "target": self.start() + self.draw(1, 8)},
                {"source": self.source(2, 2), "target": self.start() + self.draw(3, 2)}]

    def run(self, store, read, case):
        memory, logits = self.function(self.config, store, read, case["source"], case["target"])
        return {"memory": memory, "logits": logits}

    def continuations(self, store, attempts):
        c = self.settings

        def steps(source):
            return lambda ids: generation.last_row(self.function(self.config, store, Reading(), source, ids)[1])

        def greedily(seed):
            source = self.source(f"greedy {seed}", 3 + seed % 4)
            return {"source": source, "start": self.start(), "max_length": 14,
                    "target": generation.greedy(steps(source), c, self.start(), 13)}

        def by_beam(seed):
            source, penalty = self.source(f"beam {seed}", 2 + seed % 5), c.get("length_penalty", 1.0)
            target, total, score = generation.beam(steps(source), c, self.start(), 4, 20, penalty)
            if len(target) > 14 or len(target) < 3:
                raise generation.Unclear
            return {"source": source, "start": self.start(), "max_length": 20, "beams": 4, "length_penalty": penalty,
                    "target": target, "sum_of_scores": float(f"{total:.10g}"), "score": float(f"{score:.10g}")}

        return {"greedy": attempts(range(100), greedily, 2), "beam": attempts(range(60), by_beam, 2)}


class Encoder(Model):
    group, kind = "encoders", "encoder"

    def __init__(self, *arguments, types=False, first=None, last=None, **settings):
        super().__init__(*arguments, **settings)
        self.types, self.first, self.last = types, first, last

    @property
    def cases(self):
        result = []
        for seed, count in ((0, 11), (1, 3)):
            ids = self.draw(seed, count)
            ids = [id for id in [self.first, *ids, self.last] if id is not None]
            case = {"ids": ids}
            if self.types:
                case["types"] = [0 if i < 2 + count // 2 else 1 for i in range(len(ids))]
            result.append(case)
        return result

    def run(self, store, read, case):
        return self.function(self.config, store, read, case["ids"], case.get("types", [0] * len(case["ids"])))


class Pipeline(Encoder):
    """A sentence-transformers directory: `function` gives the rows, the rest is said by the modules' own files."""

    def __init__(self, name, function, config, pooling, dense=None, normalized=True, prompts=None, **settings):
        super().__init__(name, encoders.sentence(function, pooling, dense, normalized), config, **settings)
        self.pooling, self.dense, self.normalized, self.prompts = pooling, dense, normalized, prompts

    def saved_tensors(self, store):
        return {name: tensor for name, tensor in super().saved_tensors(store).items() if "/" not in name}

    def write_files(self, folder, store):
        """All but golden.json."""
        files.write_json(folder / "config.json", self.saved_config(), sort_keys=True)
        if self.generation:
            files.write_json(folder / "generation_config.json", self.generation, sort_keys=True)
        self.write_tokenizer(folder)
        files.write_weights(folder, self.saved_tensors(store), self.form, self.shards)
        self.write_more(folder, store)

    def write_more(self, folder, store):
        own = {name.split("/")[1]: tensor for name, tensor in store.tensors.items() if "/" in name}
        width = self.config.get("hidden_size") or self.config["dim"]
        pipelines.write_pipeline(folder, width, self.pooling, own, self.dense, self.normalized, prompts=self.prompts)
