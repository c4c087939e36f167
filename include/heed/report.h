// A page about a training run: curves, settings, sample translations and their attention.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

struct ReportOptions {
  std::string directory;  // of the model
  std::string output;     // empty: report.html in the directory
  std::string source;     // sentences to translate, or text for a language model; empty: the recipe's validation text
  int64_t samples = 6;    // at most this many sentences; 0: none
  int64_t beam = 0;       // 0: as the recipe validates
  int threads = 0;        // 0: one per processor
};

struct WrittenReport {
  std::string path;
  int64_t bytes = 0;
  int64_t samples = 0;
  std::vector<std::string> notes;  // what is missing from the page, and why; the page says so too
};

// Writes one self-contained HTML file, complete or not at all. Metrics, recipe, weights and sentences may be missing;
// the page then says so. Throws when the directory holds no model, and for malformed files.
WrittenReport write_report(const ReportOptions& options);

}  // namespace heed
