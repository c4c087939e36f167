#include "text/decoding_defaults.h"

#include <fmt/format.h>

namespace heed {
namespace {

template <class Value>
void set_option(const std::optional<Value>& value, Value& option) {
  option = value.value_or(option);
}

std::string shown_default(int64_t value) { return std::to_string(value); }
std::string shown_default(double value) { return fmt::format("{}", value); }
std::string shown_default(EarlyStopping value) { return std::string(name_among(kEarlyStoppingNames, value)); }

}  // namespace

void DecodingDefaults::apply_to(TranslationOptions& options) const {
  set_option(beam, options.beam);
  set_option(length_penalty, options.length_penalty);
  set_option(early_stopping, options.early_stopping);
  set_option(max_tokens, options.max_length);
  set_option(min_tokens, options.rules.min_length);
  set_option(no_repeat_ngram, options.rules.no_repeat_ngram);
  set_option(repetition_penalty, options.repetition_penalty);
}

void DecodingDefaults::apply_to(GenerationOptions& options) const {
  set_option(beam, options.beam);
  set_option(max_tokens, options.max_tokens);
  set_option(min_tokens, options.rules.min_length);
  set_option(no_repeat_ngram, options.rules.no_repeat_ngram);
  set_option(temperature, options.sampling.temperature);
  set_option(top_k, options.sampling.top_k);
  set_option(top_p, options.sampling.top_p);
  set_option(min_p, options.sampling.min_p);
  set_option(repetition_penalty, options.sampling.repetition_penalty);
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
