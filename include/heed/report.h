// A page about a training run: curves, settings, sample translations and their attention.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/types/interruption.h"

namespace heed {

struct ReportOptions {
  std::string directory;  // of the model
  std::string output;     // empty: report.html in the directory
  std::string source;     // sentences to translate, or text for a language model; empty: the recipe's validation text
  int64_t samples = 6;    // at most this many sentences; 0: none
  int64_t beam = 0;       // 0: as the recipe validates
  int threads = 0;        // 0: one per processor
  Interruption interruption = {};  // InterruptedError, and nothing is written; takes effect between two samples
};

struct WrittenReport {
  std::string path;
  int64_t bytes = 0;
  int64_t samples = 0;
  std::vector<std::string> notes;  // what is missing from the page, and why; the page says so too
};

struct ComparisonOptions {
  std::vector<std::string> directories;  // of models of one kind, two at least
  std::string output;                    // empty: comparison.html in the first directory
  std::string source;                    // as above; without references, translations are shown, but not scored
  int64_t samples = 6;                   // to show side by side
  int64_t sentences = 1000;  // at most so many are translated, or texts read, to tell differences from chance; 0: none
  int64_t beam = 0;          // 0: as the first recipe validates
  int threads = 0;           // 0: one per processor
};

// The same about several runs: their curves over each other, the settings that differ, samples side by side, and whether
// the others differ from the first by more than chance (paired bootstrap over the texts). ConfigError for models of
// different kinds.
WrittenReport write_comparison(const ComparisonOptions& options);

// Writes one self-contained HTML file, complete or not at all. Metrics, recipe, weights and sentences may be missing;
// the page then says so. Throws when the directory holds no model, and for malformed files.
WrittenReport write_report(const ReportOptions& options);

}  // namespace heed
