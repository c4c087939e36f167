#include "heed/tokenizer.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/standard_output.h"
#include "heed/lines.h"

namespace heed::cli {
namespace {

constexpr int64_t kShownPieces = 20;

void print_summary(const TokenizerSummary& summary) {
  put("kind           {}\n", summary.kind);
  put("vocabulary     {}\n", summary.vocabulary);
  put("normalization  {}\n", summary.normalization);
  for (const TokenizerSummary::Special& special : summary.special) {
    put("{:<13}  {}\n", special.role, special.id < 0 ? "none" : fmt::format("{} {}", special.id, special.text));
  }
}

// The first pieces behind the special tokens and bytes, which say little.
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
  put("{}\n", line);
}

struct TrainOptions {
  TokenizerTrainingOptions training;
  std::string output;
  bool lowercase = false;
};

void add_training(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("train", "learn a tokenizer from text, a sentence a line");
  const auto options = std::make_shared<TrainOptions>();
  TokenizerTrainingOptions& training = options->training;
  command->add_option("--kind", training.kind, "bpe, unigram, wordpiece, word, char or byte")->required();
  command->add_option("--input", training.inputs, "text files; - is the standard input")->required();
  command->add_option("--vocabulary", training.vocabulary,
                      "tokens at most, all counted; 0: as many as there are (word, char and byte)");
  command->add_option("--out", options->output, "the file to write")->required();
  command->add_option("--normalization", training.normalization, "none, nfc or nfkc")->capture_default_str();
  command->add_flag("--lowercase", options->lowercase, "lower case, on top of it");
  command->add_option("--user-symbol", training.user_symbols, "text that is always one token; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--min-count", training.minimum_count,
                      "of a word (2 if not given), a character (1) or a pair that wordpiece joins (2)");
  command->add_option("--sample-lines", training.sample_lines, "lines that bpe and unigram learn from, drawn evenly")
      ->capture_default_str();
  command->add_option("--coverage", training.coverage, "of characters by the vocabulary (0.9995; char: 1)");
  command->add_option("--pad", training.pad, "text of the token")->capture_default_str();
  command->add_option("--unk", training.unk, "text of the token")->capture_default_str();
  command->add_option("--bos", training.bos, "text of the token")->capture_default_str();
  command->add_option("--eos", training.eos, "text of the token")->capture_default_str();
  command->add_option("--sep", training.sep, "text of the token")->capture_default_str();
  command->callback([options] {
    TokenizerTrainingOptions chosen = options->training;
    chosen.normalization += options->lowercase ? " lowercase" : "";
    print_summary(train_tokenizer(chosen, options->output));
  });
}

struct CodingOptions {
  std::string model, too_long = "refuse";
  int64_t longest = -1;
  bool ids = false, bos = false, eos = false;
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
  const LoadedTokenizer tokenizer(options.model);
  using Edge = EncodingOptions::Edge;
  EncodingOptions encoding{.begin = options.bos ? Edge::marked : Edge::bare,
                           .end = options.eos ? Edge::marked : Edge::bare,
                           .longest = std::nullopt,
                           .too_long = options.too_long};
  if (options.longest >= 0) {
    encoding.longest = options.longest;
  }
  int64_t lines = 0, dropped = 0;
  for_each_line("-", [&](const std::string& text, const std::string& where) {
    const auto tokens = tokenizer.encode(text, encoding, where);
    // A dropped line leaves an empty one, so that parallel files stay parallel.
    write_output(tokens ? line_of(tokenizer, *tokens, options) : "\n");
    ++lines;
    dropped += tokens ? 0 : 1;
  });
  if (dropped > 0) {
    std::cerr << fmt::format("heed: {} of {} lines were longer than {} tokens and are left empty\n", dropped, lines,
                             options.longest);
  }
}

void add_encode(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("encode", "text to tokens, line by line");
  const auto options = std::make_shared<CodingOptions>();
  command->add_option("--model", options->model, "the tokenizer")->required();
  command->add_flag("--ids", options->ids, "numbers instead of pieces");
  command->add_option("--max-length", options->longest, "tokens a line at most, bos and eos among them")
      ->check(CLI::Validator(
          [](const std::string& text) { return text == "0" || text.starts_with('-') ? "expected 1 or more" : ""; },
          ""));
  command->add_option("--too-long", options->too_long, "what then: drop (leaves the line empty), truncate or refuse")
      ->capture_default_str();
  command->add_flag("--bos", options->bos, "begin each line with bos");
  command->add_flag("--eos", options->eos, "end each line with eos");
  command->callback([options] { encode(*options); });
}

int32_t number_of(std::string_view word, const std::string& where) {
  int32_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) {
    throw std::invalid_argument(fmt::format("{}: '{}' is not a token's number", where, word));
  }
  return number;
}

void decode(const CodingOptions& options) {
  const LoadedTokenizer tokenizer(options.model);
  for_each_line("-", [&](const std::string& line, const std::string& where) {
    std::vector<int32_t> tokens;
    for (size_t begin = 0; begin < line.size();) {
      const size_t end = std::min(line.find(' ', begin), line.size());
      if (end > begin) {
        const std::string_view word = std::string_view(line).substr(begin, end - begin);
        tokens.push_back(options.ids ? number_of(word, where) : tokenizer.token(word, where));
      }
      begin = end + 1;
    }
    // Characters and bytes know the line break too; a line stays a line.
    std::string text = tokenizer.decode(tokens, where);
    std::ranges::replace_if(
        text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    write_output(text + "\n");
  });
}

void add_decode(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("decode", "tokens back to text, line by line");
  const auto options = std::make_shared<CodingOptions>();
  command->add_option("--model", options->model, "the tokenizer")->required();
  command->add_flag("--ids", options->ids, "numbers instead of pieces");
  command->callback([options] { decode(*options); });
}

void add_inspection(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("inspect", "what a tokenizer is");
  const auto path = std::make_shared<std::string>();
  command->add_option("TOKENIZER", *path, "its file")->required();
  command->callback([path] {
    const LoadedTokenizer tokenizer(*path);
    print_summary(tokenizer.summary());
    print_pieces(tokenizer);
  });
}

}  // namespace

void add_tokenizer(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("tokenizer", "learn tokenizers; text to tokens and back");
  command->require_subcommand(1);
  add_training(*command);
  add_encode(*command);
  add_decode(*command);
  add_inspection(*command);
}

}  // namespace heed::cli
