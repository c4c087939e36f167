#include "heed/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <iostream>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/output/counted.h"
#include "cli/output/standard_output.h"
#include "heed/lines.h"

namespace heed::cli {
namespace {

constexpr int64_t kShownPieces = 20;

void print_summary(const TokenizerSummary& summary) {
  put("kind           {}\n", name_of(summary.kind));
  put("vocabulary     {}\n", summary.vocabulary);
  put("normalization  {}\n", summary.normalization);
  for (const TokenizerSummary::Special& special : summary.special) {
    put("{:<13}  {}\n", special.role, special.id < 0 ? "none" : fmt::format("{} {}", special.id, special.text));
  }
}

// The first pieces after the special tokens and bytes, which say little. A tokenizer of bytes has no others.
void print_pieces(const LoadedTokenizer& tokenizer) {
  const int64_t vocabulary = tokenizer.summary().vocabulary;
  std::string line = "pieces        ";
  int64_t shown = 0;
  for (int64_t id = 5; id < vocabulary && shown < kShownPieces; ++id) {
    const std::string piece = tokenizer.piece(static_cast<int32_t>(id));
    if (!piece.starts_with("<0x")) {
      line += " " + piece;
      ++shown;
    }
  }
  if (shown > 0) {
    put("{}\n", line);
  }
}

struct LearnOptions {
  TokenizerTraining training;
  TokenizerFiles files;
};

Command train_tokenizer_command() {
  const auto options = std::make_shared<LearnOptions>();
  TokenizerTraining& training = options->training;
  return {
      .name = "train",
      .summary = "learn a tokenizer from text, one sentence per line",
      .options = {required(option("--kind NAME", training.kind, kTokenizerKindNames,
                                  "bpe, unigram, wordpiece, word, char or byte")),
                  required(option("--input FILE...", options->files.inputs, "text files; - is standard input")),
                  option("--vocabulary N", training.vocabulary,
                         "tokens at most, special tokens included; 0: no limit (word, char and byte)"),
                  required(option("--out FILE", options->files.output, "the file to write")),
                  option("--normalization NAME", training.normalization.form, kNormalFormNames, "none, nfc or nfkc"),
                  flag("--lowercase", training.normalization.letter_case, LetterCase::lower,
                       "convert to lower case as well"),
                  option("--user-symbol TEXT", training.user_symbols, "text that always becomes one token"),
                  option("--min-count N", training.minimum_count,
                         "minimum count of a word, a character or a wordpiece pair; 0: 2, 1 and 2"),
                  option("--sample-lines N", training.sample_lines,
                         "lines that bpe and unigram learn from, sampled evenly"),
                  option("--coverage X", training.coverage,
                         "share of the characters in the vocabulary; 0: 0.9995, or 1 for char"),
                  option("--pad TEXT", training.special.pad, "text of the padding token"),
                  option("--unk TEXT", training.special.unk, "text of the unknown token"),
                  option("--bos TEXT", training.special.bos, "text of the token that begins a sequence"),
                  option("--eos TEXT", training.special.eos, "text of the token that ends a sequence"),
                  option("--sep TEXT", training.special.sep, "text of the separator")},
      .run = [options] { print_summary(train_tokenizer(options->training, options->files)); },
  };
}

struct CodingOptions {
  std::string model;
  EncodingOptions encoding;
  bool ids = false;
  int threads = 0;
};

std::string line_of(const LoadedTokenizer& tokenizer, const std::vector<int32_t>& tokens,
                    const CodingOptions& options) {
  std::string line;
  for (const int32_t token : tokens) {
    line += line.empty() ? "" : " ";
    line += options.ids ? fmt::format("{}", token) : tokenizer.piece(token);
  }
  return line += '\n';
}

void encode(const CodingOptions& options) {
  const EncodingOptions& encoding = options.encoding;
  if (encoding.max_length && *encoding.max_length < 1) {
    throw std::invalid_argument(fmt::format("--max-length: expected 1 or more, found {}", *encoding.max_length));
  }
  const LoadedTokenizer tokenizer(options.model);
  tokenizer.encode("", encoding);  // refuses options that make no sense before anything is read
  int64_t lines = 0;
  std::atomic<int64_t> dropped = 0;
  transform_lines(
      "-", options.threads,
      [&](const std::string& text, const std::string& where) {
        const auto tokens = tokenizer.encode(text, encoding, where);
        dropped += tokens ? 0 : 1;
        // A dropped line leaves an empty one, so that parallel files stay parallel.
        return tokens ? line_of(tokenizer, *tokens, options) : "\n";
      },
      [&](const std::string& made) {
        write_output(made);
        ++lines;
      });
  if (dropped > 0) {
    std::cerr << fmt::format("heed: {} of {} lines were longer than {} and are left empty\n", dropped.load(), lines,
                             counted(*encoding.max_length, "token"));
  }
}

Command encode_command() {
  const auto options = std::make_shared<CodingOptions>();
  EncodingOptions& encoding = options->encoding;
  using Edge = EncodingOptions::Edge;
  return {
      .name = "encode",
      .summary = "convert text to tokens, line by line",
      .options = {required(option("--model FILE", options->model, "the tokenizer")),
                  flag("--ids", options->ids, "print ids instead of pieces"),
                  option("--max-length N", encoding.max_length, "tokens per line at most, including bos and eos"),
                  needing("--max-length",
                          option("--too-long WHAT", encoding.too_long, kTooLongNames,
                                 "what to do with longer lines: drop (leaves the line empty), truncate or refuse")),
                  flag("--bos", encoding.begin, Edge::marked, "begin each line with bos"),
                  flag("--eos", encoding.end, Edge::marked, "end each line with eos"),
                  option("--threads N", options->threads, "threads to use; 0: one per processor")},
      .run = [options] { encode(*options); },
  };
}

int32_t number_of(std::string_view word, const std::string& where) {
  int32_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) {
    throw std::invalid_argument(fmt::format("{}: '{}' is not a token's number", where, word));
  }
  return number;
}

std::string decoded(const LoadedTokenizer& tokenizer, const std::string& line, const std::string& where,
                    const CodingOptions& options) {
  std::vector<int32_t> tokens;
  for (size_t begin = 0; begin < line.size();) {
    const size_t end = std::min(line.find(' ', begin), line.size());
    if (end > begin) {
      const std::string_view word = std::string_view(line).substr(begin, end - begin);
      tokens.push_back(options.ids ? number_of(word, where) : tokenizer.token(word, where));
    }
    begin = end + 1;
  }
  // Tokenizers of characters and bytes may decode to a line break; a line must stay one line.
  std::string text = tokenizer.decode(tokens, where);
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text + '\n';
}

void decode(const CodingOptions& options) {
  const LoadedTokenizer tokenizer(options.model);
  transform_lines(
      "-", options.threads,
      [&](const std::string& line, const std::string& where) { return decoded(tokenizer, line, where, options); },
      write_output);
}

Command decode_command() {
  const auto options = std::make_shared<CodingOptions>();
  return {
      .name = "decode",
      .summary = "convert tokens back to text, line by line",
      .options = {required(option("--model FILE", options->model, "the tokenizer")),
                  flag("--ids", options->ids, "read ids instead of pieces"),
                  option("--threads N", options->threads, "threads to use; 0: one per processor")},
      .run = [options] { decode(*options); },
  };
}

std::string in_line(const std::vector<std::string>& tokens) { return fmt::format("{}", fmt::join(tokens, " ")); }

size_t code_points(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

// Control characters as pieces show them: "<U+0009>".
std::string without_controls(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    shown += code < 0x20U || code == 0x7fU ? fmt::format("<U+{:04X}>", code) : std::string(1, c);
  }
  return shown;
}

void print_trace(const TokenizerTrace& trace) {
  put("text    {}\n", without_controls(trace.normalized));
  if (trace.kind == TokenizerKind::bpe) {
    put("start   {}\n", in_line(trace.start));
  }
  double sum = 0.0;
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    const TokenizerTrace::Step& step = trace.steps[i];
    sum += step.score;
    switch (trace.kind) {
      case TokenizerKind::bpe:
        put("{:>6}  {} -> {}: {}\n", i + 1, step.from, step.piece, in_line(step.tokens));
        break;
      case TokenizerKind::wordpiece:
        put("{:>6}  {} -> {}\n", i + 1, step.from, step.piece);
        break;
      default:
        put("{:>6}  {}{:{}} {:>9.4f}\n", i + 1, step.piece, "", 20 - std::min<size_t>(20, code_points(step.piece)),
            step.score);
    }
  }
  if (trace.kind == TokenizerKind::unigram) {
    put("log probability {:.4f}\n", sum);
  }
  put("tokens  {}\n", in_line(trace.tokens));
}

Command inspect_tokenizer_command() {
  const auto path = std::make_shared<std::string>();
  const auto traced = std::make_shared<std::optional<std::string>>();
  return {
      .name = "inspect",
      .summary = "show what a tokenizer consists of",
      .options = {required(option("--model FILE", *path, "the tokenizer")),
                  option("--trace TEXT", *traced, "show how this text becomes tokens, step by step, and nothing else")},
      .run =
          [path, traced] {
            const LoadedTokenizer tokenizer(*path);
            if (*traced) {
              print_trace(tokenizer.trace(**traced));
              return;
            }
            print_summary(tokenizer.summary());
            print_pieces(tokenizer);
          },
  };
}

}  // namespace

Command tokenizer_command() {
  return {.name = "tokenizer",
          .summary = "learn tokenizers; convert text to tokens and back",
          .commands = {train_tokenizer_command(), encode_command(), decode_command(), inspect_tokenizer_command()}};
}

}  // namespace heed::cli
