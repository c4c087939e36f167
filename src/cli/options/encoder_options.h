// What the commands of models that read texts share.
#pragma once

#include <string>
#include <vector>

#include "cli/options/translator_options.h"
#include "heed/encoder.h"
#include "heed/lines.h"

namespace heed::cli {

inline constexpr size_t kTextsPerCall = 4096;  // texts of one call share batches

inline constexpr std::string_view kEncoderAnswers =
    "Lines are answered as they arrive, at most 4096 together. A line that is refused ends the command: the lines "
    "read\n"
    "together with it are not answered, those read before them are.\n\n";

inline std::vector<Option> input_option(std::string& input, const std::string& what) {
  return {option("--input FILE", input, what + ", plain or gzip; -: standard input")};
}

inline std::vector<Option> encoder_context_options(ModelOptions& options) {
  return {context_option(options), rotary_scaling_option(options)};
}

// Calls use(lines, name) for the lines of a file, many at a time.
template <class Use>
void for_each_part(const std::string& path, Use use) {
  AvailableLines input(path);
  for (auto lines = input.next(kTextsPerCall); !lines.empty(); lines = input.next(kTextsPerCall)) {
    use(lines, [&](size_t line) { return input.name(line); });
  }
}

}  // namespace heed::cli
