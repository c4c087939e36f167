#include "text/sentencepiece/sentencepiece_training.h"

#include <sentencepiece_trainer.h>

#include <cinttypes>
#include <cstdio>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "text/sentencepiece/sentencepiece_tokenizer.h"

namespace heed {
namespace {

// Unigram's sums depend on how the sentences are distributed over threads, so the number of threads is fixed.
constexpr int kThreads = 4;
constexpr double kCoverage = 0.9995;

// At most `max_lines` lines, each with the same probability (Vitter's algorithm R); the same ones every time.
std::vector<std::string> sample(const LineSource& source, size_t max_lines) {
  std::vector<std::string> lines;
  std::mt19937_64 random(1);
  size_t read = 0;
  for (std::string line; source(line); ++read) {
    if (lines.size() < max_lines) {
      lines.push_back(std::move(line));
    } else if (const size_t place = random() % (read + 1); place < max_lines) {
      lines[place] = std::move(line);
    }
  }
  return lines;
}

// Frees each line once it has been returned: SentencePiece has a copy of it.
class Lines final : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(std::vector<std::string> lines) : lines_(std::move(lines)) {}

  bool done() const override { return next_ == lines_.size(); }
  void Next() override { lines_[next_++] = {}; }
  const std::string& value() const override { return lines_[next_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<std::string> lines_;
  size_t next_ = 0;
};

// SentencePiece reads lists as comma-separated values in quotes.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    result += c == '"' ? "\"\"" : std::string(1, c);
  }
  return result + "\"";
}

std::string quoted(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) {
    list += (list.empty() ? "" : ",") + quoted(text);
  }
  return list;
}

std::unordered_map<std::string, std::string> options_of(const TokenizerTraining& training) {
  const SpecialTokens ids;
  return {
      {"model_type", std::string(name_of(training.kind))},
      {"vocab_size", fmt::format("{}", training.vocabulary)},
      {"hard_vocab_limit", "false"},
      {"character_coverage", fmt::format("{}", training.coverage == 0.0 ? kCoverage : training.coverage)},
      {"normalization_rule_name", "identity"},
      {"add_dummy_prefix", "true"},
      {"remove_extra_whitespaces", "false"},
      {"byte_fallback", "true"},
      {"accept_language", std::string(kOwnLanguage)},
      {"pad_id", fmt::format("{}", ids.pad.value)},
      {"unk_id", fmt::format("{}", ids.unk.value)},
      {"bos_id", fmt::format("{}", ids.bos.value)},
      {"eos_id", fmt::format("{}", ids.eos.value)},
      {"pad_piece", training.special.pad},
      {"unk_piece", training.special.unk},
      {"bos_piece", training.special.bos},
      {"eos_piece", training.special.eos},
      {"control_symbols", quoted({training.special.sep})},  // these follow the four above, so the first has id 4
      {"user_defined_symbols", quoted(training.user_symbols)},
      {"max_sentence_length", "1000000000"},
      {"num_threads", fmt::format("{}", kThreads)},
      {"minloglevel", "4"},
  };
}

// SentencePiece's message when not even the single characters fit.
constexpr const char* kTooSmall = "Vocabulary size is smaller than required_chars. %" SCNd64 " vs %" SCNd64;

// "Internal: ./src/trainer_interface.cc(580) [condition] What is wrong." -> "What is wrong."
std::string reason_of(const std::string& message) {
  const size_t end = message.rfind("] ");
  const std::string reason = end == std::string::npos ? message : message.substr(end + 2);
  return reason.find_first_not_of(' ') == std::string::npos ? message : reason;
}

}  // namespace

std::string train_sentencepiece(const TokenizerTraining& training, const LineSource& lines) {
  for (const std::string& symbol : training.user_symbols) {
    require<ConfigError>(symbol.find_first_of(std::string_view(" \t\0", 3)) == std::string::npos &&
                             symbol.find("\u2581") == std::string::npos,
                         "user symbol", "'{}' contains a space or tab, which {} reserves", symbol,
                         name_of(training.kind));
  }
  Lines source(sample(lines, static_cast<size_t>(training.sample_lines)));
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(options_of(training), &source, &model);
  const std::string what = fmt::format("training of {}", name_of(training.kind));
  const std::string reason = reason_of(status.error_message());
  int64_t wanted = 0, minimum = 0;
  if (std::sscanf(reason.c_str(), kTooSmall, &wanted, &minimum) == 2) {
    fail<ConfigError>(what,
                      "{} tokens are too few: the text's characters, bytes and special tokens are {}. Raise the "
                      "vocabulary, or lower the coverage",
                      wanted, minimum);
  }
  require<ConfigError>(status.ok(), what, "{}", reason);
  return model;
}

}  // namespace heed
