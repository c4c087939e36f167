#include "text/decoding_defaults.h"

#include <fmt/format.h>

namespace heed {
namespace {

template <class Value>
void give_one(const std::optional<Value>& value, Value& option) {
  option = value.value_or(option);
}

std::string shown_default(int64_t value) { return std::to_string(value); }
std::string shown_default(double value) { return fmt::format("{}", value); }
std::string shown_default(EarlyStopping value) { return std::string(name_among(kEarlyStoppingNames, value)); }

}  // namespace

void DecodingDefaults::give(TranslationOptions& options) const {
  give_one(beam, options.beam);
  give_one(length_penalty, options.length_penalty);
  give_one(early_stopping, options.early_stopping);
  give_one(max_tokens, options.max_length);
  give_one(min_tokens, options.rules.min_length);
  give_one(no_repeat_ngram, options.rules.no_repeat_ngram);
}

void DecodingDefaults::give(GenerationOptions& options) const {
  give_one(beam, options.beam);
  give_one(max_tokens, options.max_tokens);
  give_one(min_tokens, options.rules.min_length);
  give_one(no_repeat_ngram, options.rules.no_repeat_ngram);
  give_one(temperature, options.sampling.temperature);
  give_one(top_k, options.sampling.top_k);
  give_one(top_p, options.sampling.top_p);
  give_one(min_p, options.sampling.min_p);
  give_one(repetition_penalty, options.sampling.repetition_penalty);
}

std::string describe(const DecodingDefaults& defaults) {
  std::string text;
  for_each_default(defaults, [&](std::string_view name, const auto& value) {
    if (value) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, shown_default(*value));
    }
  });
  return text;
}

}  // namespace heed
