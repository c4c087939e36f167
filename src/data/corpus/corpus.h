// A corpus: text files, read once, filtered and stored as tokens.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strong.h"
#include "data/corpus/corpus_rules.h"
#include "data/corpus/token_store.h"
#include "data/lines/line_chunks.h"

namespace heed {

// Called by several threads at once when the corpus is read with several.
using LineEncoder = std::function<std::vector<TokenId>(std::string_view)>;

// One language of a corpus: its files, how their lines become tokens, and how many tokens a line may have.
struct CorpusSide {
  std::vector<std::filesystem::path> files;
  LineEncoder encode;
  int64_t vocabulary = 0;
  int64_t min_length = 1, max_length = 512;
};

// Where a sentence comes from: the index of the file in each side's list, and the line.
struct LineOrigin {
  int64_t file = 0, line = 0;
  bool operator==(const LineOrigin&) const = default;
};

// For each kept line one sequence per side, in the files' order. A parallel corpus has two sides, a monolingual one has
// one.
class Corpus {
 public:
  int64_t size() const { return lines_.size(); }
  int64_t sides() const { return static_cast<int64_t>(stores_.size()); }
  const TokenStore& side(int64_t k) const { return stores_[static_cast<size_t>(k)]; }
  const TokenStore& source() const { return stores_.front(); }
  const TokenStore& target() const { return stores_.back(); }

  LineOrigin origin(int64_t sentence) const;
  std::string where(int64_t sentence) const;  // "train.de:12 | train.en:12", for messages

  const CorpusReport& report() const { return report_; }
  // For files, and back: with the sides that it was read for. The fields refer to the corpus.
  void store(FieldsToStore& fields) const;
  static Corpus stored(const StoredFields& fields, const std::vector<CorpusSide>& sides);

  // A hash of all tokens in order: a position in this corpus means nothing in one with another fingerprint.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  friend class CorpusBuilder;
  explicit Corpus(SpillArray<int64_t> lines) : lines_(std::move(lines)) {}

  std::vector<std::vector<std::filesystem::path>> files_;  // [side][file]
  std::vector<TokenStore> stores_;
  std::vector<int64_t> first_sentences_;  // of each file
  SpillArray<int64_t> lines_;
  CorpusReport report_;
  uint64_t fingerprint_ = 0;
};

// Reads the sides' files in parallel, line by line. The workers encode the lines; the result does not depend on their
// number. Only a few megabytes of text are in memory at a time; tokens are stored as `spill` says. FormatError,
// naming the line, for what the rules refuse (both lines, and both counts, when files differ in length), and when no
// line is kept.
Corpus read_corpus(const std::vector<CorpusSide>& sides, const CorpusRules& rules, const LineWorkers& workers,
                   const SpillRules& spill = {});

}  // namespace heed
