"""heed tokenizer: training, encoding and decoding from outside, and what it refuses."""

import unittest

import heed_cli
from heed_cli import heed, run

KINDS = ("bpe", "unigram", "wordpiece", "word", "char", "byte")
TEXT = "".join(f"{who} is {what} in the {where}, with a hat ({number}).\n"
               for who in ("A man", "The dog", "Ein Mädchen") for what in ("walking", "running", "singing")
               for where in ("park", "street", "house") for number in range(3, 6))
LINES = "A man is walking in the park.\n\nThe dog is singing, with a hat (4).\n"


def tokenizer(*arguments, text=b""):
    return run("tokenizer", *arguments, text=text)


class TokenizerTest(heed_cli.CliTest):
    def train(self, kind, *options, text=TEXT):
        source, model = self.file("text.txt", text), self.path / f"{kind}.tok"
        size = ["--vocabulary", "330"] if kind in ("bpe", "unigram", "wordpiece") else []
        result = heed("tokenizer", "train", "--kind", kind, "--input", source, "--out", model, *size, *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return model

    def run_well(self, *arguments, text=b""):
        result = tokenizer(*arguments, text=text)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def refuse_text(self, *arguments, text, mentions):
        # The lines before the refused one may have been written already.
        self.assert_refused("tokenizer", *arguments, text=text, mentions=mentions, stdout=None)


class RoundTrip(TokenizerTest):
    def test_decoding_gives_back_each_line_that_was_encoded(self):
        for kind in KINDS:
            with self.subTest(kind):
                model = self.train(kind)
                for form in ([], ["--ids"]):
                    encoded = self.run_well("encode", "--model", model, *form, text=LINES)
                    self.assertEqual(encoded.count("\n"), 3)
                    self.assertEqual(encoded.split("\n")[1], "")
                    self.assertEqual(self.run_well("decode", "--model", model, *form, text=encoded), LINES)

    def test_bos_and_eos_are_added_on_request_and_skipped_in_decoding(self):
        model = self.train("bpe")
        encoded = self.run_well("encode", "--model", model, "--ids", "--bos", "--eos", text=LINES)
        for line in encoded.splitlines():
            self.assertEqual(line.split()[0], "2")
            self.assertEqual(line.split()[-1], "3")
        self.assertEqual(self.run_well("decode", "--model", model, "--ids", text=encoded), LINES)

    def test_pieces_are_readable(self):
        model = self.train("word")
        self.assertEqual(self.run_well("encode", "--model", model, text="The man (3) flies.\n"),
                         "The man ( 3 ) <unk> .\n")

    def test_other_ends_of_lines_and_a_missing_last_one_are_read(self):
        model = self.train("word")
        self.assertEqual(self.run_well("encode", "--model", model, text="The man\r\nThe dog"), "The man\nThe dog\n")

    def test_the_same_text_gives_the_same_file(self):
        for kind in KINDS:
            first = self.train(kind).read_bytes()
            self.assertEqual(self.train(kind).read_bytes(), first, kind)

    def test_several_inputs_are_one_text(self):
        half = TEXT.index("\n", len(TEXT) // 2) + 1
        a, b = self.file("a", TEXT[:half]), self.file("b", TEXT[half:])
        out = self.path / "two.tok"
        self.assertEqual(heed("tokenizer", "train", "--kind", "word", "--input", a, b, "--out", out).returncode, 0)
        self.assertEqual(out.read_bytes(), self.train("word").read_bytes())


class Options(TokenizerTest):
    def test_a_line_that_is_too_long_is_refused_truncated_or_left_empty(self):
        model = self.train("word")
        text = "The dog\nThe man is walking in the park.\nA man\n"
        limit = ("encode", "--model", model, "--max-length", "4")
        self.refuse_text(*limit, text=text, mentions=("stdin:2: ", "8 tokens", "at most 4"))
        self.assertEqual(self.run_well(*limit, "--too-long", "truncate", text=text),
                         "The dog\nThe man is walking\nA man\n")
        dropped = tokenizer(*limit, "--too-long", "drop", text=text)
        self.assertEqual((dropped.returncode, dropped.stdout), (0, b"The dog\n\nA man\n"))
        self.assertEqual(dropped.stderr.decode(),
                         "heed: 1 of 3 lines were longer than 4 tokens and are left empty\n")
        self.assertEqual(self.run_well(*limit, "--bos", "--eos", "--too-long", "truncate", text=text).splitlines()[1],
                         "<s> The man </s>")

    def test_lowercase_and_normalization_are_stored(self):
        model = self.train("word", "--normalization", "nfkc", "--lowercase")
        self.assertEqual(self.run_well("encode", "--model", model, text="THE Ｄog\n"), "the dog\n")
        self.assertIn("normalization  nfkc lowercase\n", heed("tokenizer", "inspect", "--model", model).stdout)

    def test_user_symbols_special_tokens_and_minimum_count_take_effect(self):
        model = self.train("word", "--user-symbol", "<2de>", "--user-symbol", "<2fr>", "--unk", "[UNK]", "--min-count",
                           "28")
        self.assertEqual(self.run_well("encode", "--model", model, text="<2fr>A man is walking\n"),
                         "<2fr> [UNK] [UNK] is [UNK]\n")
        shown = heed("tokenizer", "inspect", "--model", model).stdout
        self.assertIn("unk            1 [UNK]\n", shown)
        self.assertIn("<2de> <2fr>", shown)

    def test_trace_shows_the_steps_from_text_to_tokens(self):
        for kind in ("bpe", "unigram", "wordpiece"):
            model = self.train(kind)
            tokens = self.run_well("encode", "--model", model, text="The dog sleeps\n").strip()
            shown = self.run_well("inspect", "--model", model, "--trace", "The dog sleeps").splitlines()
            self.assertEqual((shown[0], shown[-1]), ("text    The dog sleeps", "tokens  " + tokens), kind)
        merges = self.run_well("inspect", "--model", self.train("bpe"), "--trace", "The dog").splitlines()
        self.assertEqual(merges[1], "start   \u2581 T h e \u2581 d o g")
        self.assertRegex(merges[2], r"^ +1  \S+ \+ \S+ -> \S+: ")
        controls = self.run_well("inspect", "--model", self.train("bpe"), "--trace", "The\tdog\nsleeps").splitlines()
        self.assertEqual(controls[0], "text    The<U+0009>dog<U+000A>sleeps")
        for kind in ("word", "char", "byte"):
            self.assert_refused("tokenizer", "inspect", "--model", self.train(kind), "--trace", "The dog",
                                mentions=(f"kind {kind}",))

    def test_inspect_says_what_a_tokenizer_is(self):
        for kind in KINDS:
            shown = heed("tokenizer", "inspect", "--model", self.train(kind)).stdout
            self.assertRegex(shown, rf"\Akind           {kind}\nvocabulary     \d+\nnormalization  nfc\n")
            self.assertIn("\npad            0 <pad>\nunk            1 <unk>\nbos            2 <s>\n", shown)
            self.assertEqual("\npieces " in shown, kind != "byte")


class Refusals(TokenizerTest):
    def test_an_unknown_kind_suggests_the_nearest(self):
        text = self.file("t", TEXT)
        self.assert_refused("tokenizer", "train", "--kind", "bpee", "--input", text, "--out", self.path / "o",
                            "--vocabulary", "300", mentions=("'bpee'", "did you mean 'bpe'?"))

    def test_text_that_is_not_utf8_is_named_by_file_and_line(self):
        text = self.file("bad.txt", b"good\nalso\nb\xffd\n")
        for kind in ("bpe", "word"):
            self.assert_refused("tokenizer", "train", "--kind", kind, "--input", self.file("t", TEXT), text, "--out",
                                self.path / "o", "--vocabulary", "300", mentions=(f"{text}:3: ", "not UTF-8"))
        self.assertFalse((self.path / "o").exists())
        self.refuse_text("encode", "--model", self.train("byte"), text=b"fine\n\xc3\n",
                         mentions=("stdin:2: ", "not UTF-8"))

    def test_missing_files_are_named(self):
        absent = self.path / "absent"
        self.assert_refused("tokenizer", "inspect", "--model", absent, mentions=(absent, "No such file"))
        self.assert_refused("tokenizer", "encode", "--model", absent, mentions=(absent,))
        self.assert_refused("tokenizer", "train", "--kind", "word", "--input", absent, "--out", self.path / "o",
                            mentions=(absent, "No such file"))
        self.assert_refused("tokenizer", "train", "--kind", "word", "--input", self.path, "--out", self.path / "o",
                            mentions=(self.path, "directory"))
        self.assert_refused("tokenizer", "train", "--kind", "word", "--input", self.file("t", TEXT), "--out",
                            absent / "o", mentions=(absent / "o", "cannot create"))

    def test_files_that_are_not_tokenizers_are_named(self):
        for kind in KINDS:
            whole = self.train(kind).read_bytes()
            self.assert_refused("tokenizer", "inspect", "--model", self.file("cut.tok", whole[:-5]), mentions=("cut.tok: ",))
            edited = bytearray(whole)
            edited[len(whole) // 2] ^= 1
            self.assert_refused("tokenizer", "inspect", "--model", self.file("edited.tok", bytes(edited)),
                                mentions=("edited.tok: ",))
        self.assert_refused("tokenizer", "inspect", "--model", heed_cli.RECIPE, mentions=(heed_cli.RECIPE, "SentencePiece"))
        self.assert_refused("tokenizer", "inspect", "--model", self.file("empty", ""), mentions=("empty",))

    def test_a_vocabulary_that_is_too_small_or_missing_is_refused(self):
        text, out = self.file("t", TEXT), self.path / "o"
        for kind in ("bpe", "unigram", "wordpiece"):
            self.assert_refused("tokenizer", "train", "--kind", kind, "--input", text, "--out", out,
                                mentions=("vocabulary", kind))
        self.assert_refused("tokenizer", "train", "--kind", "bpe", "--input", text, "--out", out, "--vocabulary", "99",
                            mentions=("bpe", "99"))

    def test_even_byte_reads_its_input(self):
        self.assert_refused("tokenizer", "train", "--kind", "byte", "--input", self.path / "absent", "--out",
                            self.path / "o", mentions=("absent", "No such file"))
        self.assertFalse((self.path / "o").exists())

    def test_options_that_a_kind_cannot_train_with_are_named(self):
        text, out = self.file("t", TEXT), self.path / "o"
        self.assert_refused("tokenizer", "train", "--kind", "bpe", "--input", text, "--out", out, "--vocabulary", "300",
                            "--coverage", "0.9", mentions=("coverage", "0.9 for bpe", "0.98 to 1"))
        self.assert_refused("tokenizer", "train", "--kind", "word", "--input", text, "--out", out, "--min-count", "999",
                            mentions=("frequent enough",))
        self.assert_refused("tokenizer", "train", "--kind", "word", "--input", text, "--out", out, "--sample-lines",
                            "0", mentions=("sample_lines is 0",))
        self.assert_refused("tokenizer", "train", "--kind", "word", "--input", text, "--out", out, "--sample-lines",
                            "3", mentions=("sample lines", "word"))
        self.assert_refused("tokenizer", "train", "--kind", "bpe", "--input", text, "--out", out, "--vocab", "300",
                            mentions=("did you mean '--vocabulary'?",))

    def test_its_own_input_is_not_overwritten(self):
        text = self.file("t", TEXT)
        self.assert_refused("tokenizer", "train", "--kind", "word", "--input", text, "--out",
                            self.path / "." / "t", mentions=(text, "overwritten"))
        self.assertEqual(text.read_text(), TEXT)

    def test_the_error_names_a_text_with_nothing_to_learn(self):
        empty, blank = self.file("empty", ""), self.file("blank", "\n\n")
        for kind in ("bpe", "word"):
            self.assert_refused("tokenizer", "train", "--kind", kind, "--vocabulary", "300", "--input", empty, blank,
                                "--out", self.path / "o", mentions=(f"{empty}, {blank}: there is no text",))

    def test_a_line_of_tokens_is_a_line_of_text(self):
        decoded = heed("tokenizer", "decode", "--model", self.train("byte"), text="<0x61> <0x0A> <0x62> <0x0D>\n<0x63>\n")
        self.assertEqual(decoded.stdout, "a b \nc\n", decoded.stderr)

    def test_tokens_that_are_not_in_the_vocabulary_are_named_with_their_line(self):
        model = self.train("word")
        size = heed("tokenizer", "inspect", "--model", model).stdout.split()[3]
        self.refuse_text("decode", "--model", model, "--ids", text=f"5 6\n5 {size}\n",
                         mentions=("stdin:2: ", f"token {size}", f"vocabulary of {size}"))
        self.refuse_text("decode", "--model", model, "--ids", text="5\n-1\n", mentions=("stdin:2: ", "-1"))
        self.refuse_text("decode", "--model", model, "--ids", text="5\n6 x7\n", mentions=("stdin:2: ", "'x7'"))
        self.refuse_text("decode", "--model", model, "--ids", text="99999999999\n", mentions=("'99999999999'",))
        self.refuse_text("decode", "--model", model, text="nonsense\n", mentions=("stdin:1: ", "'nonsense'"))

    def test_the_lines_before_a_bad_one_are_written(self):
        model = self.train("word")
        size = 40_000  # more than a chunk of lines
        good = "The dog\n" * size
        for words, bad, mention in ((("encode",), b"b\xffd\n", "not UTF-8"),
                                    (("encode", "--max-length", "2"), b"The dog is\n", "3 tokens"),
                                    (("decode",), b"nonsense\n", "'nonsense'")):
            for threads in ("1", "2"):
                result = tokenizer(words[0], "--model", model, *words[1:], "--threads", threads,
                                   text=good.encode() + bad + good.encode() + bad)
                self.assertEqual(result.returncode, 2)
                self.assertEqual(result.stdout.decode(), good)
                self.assertIn(f"stdin:{size + 1}: ", result.stderr.decode())
                self.assertIn(mention, result.stderr.decode())

    def test_the_number_of_threads_changes_nothing(self):
        model = self.train("bpe")
        text = "".join(f"The dog {i} is {'walking' * (i % 7)}.\n" for i in range(20_000))
        for words in (("encode",), ("encode", "--ids", "--max-length", "9", "--too-long", "drop")):
            results = [tokenizer(*words, "--model", model, "--threads", threads, text=text.encode())
                       for threads in ("1", "3")]
            self.assertEqual(results[0].stdout.count(b"\n"), 20_000)
            self.assertEqual(results[0].stdout, results[1].stdout)
            self.assertEqual(results[0].stderr, results[1].stderr)
        encoded = self.run_well("encode", "--model", model, text=text.encode())
        self.assertEqual(self.run_well("decode", "--model", model, "--threads", "3", text=encoded.encode()), text)
        self.assert_refused("tokenizer", "decode", "--model", model, "--threads", -1, mentions=("threads: expected 1",))

    def test_lengths_that_make_no_sense_are_refused(self):
        model = self.train("word")
        self.assert_refused("tokenizer", "encode", "--model", model, "--too-long", "cut", mentions=("'cut'",))
        self.assert_refused("tokenizer", "encode", "--model", model, "--too-long", "drop",
                            mentions=("--too-long needs --max-length",))
        self.refuse_text("encode", "--model", model, "--max-length", "1", "--bos", "--eos", text="x\n",
                         mentions=("at most 1", "expected 2"))
        self.refuse_text("encode", "--model", model, "--too-long", "cut", text="x y\n",
                         mentions=("'cut'", "drop, truncate, refuse"))
        for number in ("0", "-1"):
            self.refuse_text("encode", "--model", model, "--max-length", number, text="x\n",
                             mentions=("--max-length", "expected 1 or more"))

    def test_inspect_takes_its_file_as_the_other_commands_do(self):
        self.assert_refused("tokenizer", "inspect", self.train("word"),
                            mentions=("one word too many", "heed tokenizer inspect --model FILE"))


if __name__ == "__main__":
    unittest.main()
