#include "cli/options/draft_options.h"

#include <fmt/format.h>

#include <cstdio>

#include "heed/errors.h"

namespace heed::cli {
namespace {

constexpr int64_t kStepsToCompare = 32;  // before that the first steps, which are slower, count for too much

Option what_drafts(DraftOptions& options) {
  Option made =
      option("--draft DIR|prompt|layers:N", options.model,
             "draft tokens, which the model then checks together: with a smaller model, from the text so far, "
             "or with the model's first N layers; changes only the speed");
  made.set = [&options](const std::string& text) {
    const int64_t tokens = options.tokens;
    options = drafts_named(text, "--draft");
    options.tokens = tokens;
  };
  return made;
}

Option how_many(DraftOptions& options) {
  Option made =
      option("--draft-tokens N|auto", options.tokens,
             fmt::format("tokens to draft at once, at most {}; auto: as many as save time, or none", kMaxDraftTokens));
  made.standard = "auto";
  made.set = [&options, set = made.set](const std::string& text) {
    if (text == "auto") {
      options.tokens = 0;
      return;
    }
    set(text);
    if (options.tokens < 1 || options.tokens > kMaxDraftTokens) {
      throw ConfigError(fmt::format("--draft-tokens: '{}' is neither 1 to {} nor auto", text, kMaxDraftTokens));
    }
  };
  return needing("--draft", made);
}

}  // namespace

std::vector<Option> draft_options(DraftOptions& options) { return {what_drafts(options), how_many(options)}; }

void report_drafts(const DraftOptions& options, const DraftReport& report) {
  if (options.by != Drafts::none && report.drafted == 0) {
    fmt::print(stderr, "drafts: no tokens were drafted\n");
  } else if (options.by != Drafts::none) {
    const std::string gain = report.steps < kStepsToCompare
                                 ? "too few steps to compare"
                                 : fmt::format("{:.2f} times as fast as without", report.gain());
    fmt::print(stderr, "drafts: {} of {} tokens right ({:.1f}%), {:.2f} tokens a step, {}\n", report.accepted,
               report.drafted, 100.0 * report.acceptance(), report.tokens_per_step(), gain);
  }
}

}  // namespace heed::cli
