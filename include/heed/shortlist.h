// Learning a vocabulary shortlist: which target tokens the translations of a sentence may have. Translation is faster
// with it, but not the same.
#pragma once

#include <cstdint>
#include <string>

namespace heed {

struct ShortlistOptions {
  std::string model;           // the directory of a translation model, whose tokenizers cut the text
  std::string source, target;  // files, one sentence per line, plain or gzip
  std::string output;          // the file to write
  int64_t best = 100;          // target tokens for each source token, at most
  int64_t frequent = 100;      // target tokens that every sentence may use, the most frequent
  int threads = 0;             // 0: one per processor
};

struct ShortlistResult {
  std::string text;    // what was read, in one line
  int64_t tokens = 0;  // of the source's vocabulary that have targets
  int64_t pairs = 0;   // of a source token and one of its targets
  int64_t bytes = 0;   // of the file
  double seconds = 0.0;
};

// Learns it by IBM Model 1. The same text and tokenizers give the same file, on any number of threads.
ShortlistResult learn_shortlist(const ShortlistOptions& options);

}  // namespace heed
