// A corpus: text files, read once, filtered and kept as tokens.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/strong.h"
#include "base/threads.h"
#include "data/corpus_rules.h"
#include "data/token_store.h"

namespace heed {

// Called by several threads at a time where the corpus is read with several.
using LineEncoder = std::function<std::vector<TokenId>(std::string_view)>;

// One language of a corpus: its files, how their lines become tokens, and how many tokens a line may have.
struct CorpusSide {
  std::vector<std::filesystem::path> files;
  LineEncoder encode;
  int64_t vocabulary = 0;
  int64_t least = 1, most = 512;
};

// Where a sentence comes from: the line of each of the files that stand at one place in the sides' lists.
struct LineOrigin {
  int64_t file = 0, line = 0;
  bool operator==(const LineOrigin&) const = default;
};

// One sequence of each side for each line kept, in the files' order. A parallel corpus has two sides, a monolingual one
// has one.
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
  // Of all tokens and their order: a position in this corpus means nothing in one of another fingerprint.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  friend class CorpusBuilder;
  explicit Corpus(const SpillRules& spill) : lines_(spill) {}

  std::vector<std::vector<std::filesystem::path>> files_;  // [side][file]
  std::vector<TokenStore> stores_;
  std::vector<int64_t> first_sentences_;  // of each file
  SpillArray<int64_t> lines_;
  CorpusReport report_;
  uint64_t fingerprint_ = 0;
};

// Reads the sides' files in step; lines are encoded by the pool's threads, whose number changes nothing else. Texts are
// held a few megabytes at a time, tokens by `spill`. Refusals by the rules are a FormatError with the place (both
// places, and both counts of lines, where files differ in those); so is a corpus of which nothing is left.
Corpus read_corpus(const std::vector<CorpusSide>& sides, const CorpusRules& rules, ThreadPool& pool,
                   const SpillRules& spill = {});

}  // namespace heed
