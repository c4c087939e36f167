// A page about a training run: curves, settings, sample translations and their attention.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

struct ReportOptions {
  std::string directory;  // of the model
  std::string output;     // empty: report.html in the directory
  std::string source;     // a file of sentences to translate; empty: the recipe's validation text
  int64_t samples = 6;    // sentences at most; 0: none
  int64_t beam = 0;       // 0: as the recipe validates
  int threads = 0;        // 0: one per processor
};

struct WrittenReport {
  std::string path;
  int64_t bytes = 0;
  int64_t samples = 0;
  std::vector<std::string> notes;  // what the page had to do without, and why; they stand on the page too
};

// Writes one HTML file that needs no other, whole or not at all. Metrics, recipe, weights and sentences may be missing,
// and are then said to be. Throws when the directory holds no model, and for files that are there but malformed.
WrittenReport write_report(const ReportOptions& options);

}  // namespace heed
