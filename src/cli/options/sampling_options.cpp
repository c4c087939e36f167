#include "cli/options/sampling_options.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "heed/errors.h"

namespace heed::cli {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [read_to, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && read_to == end;
}

TokenBias bias_of(const std::string& text) {
  const std::string_view all = text;
  const size_t equals = all.find('=');
  TokenBias bias;
  if (equals == std::string_view::npos || !read_number(all.substr(0, equals), bias.token) ||
      !read_number(all.substr(equals + 1), bias.bias)) {
    throw ConfigError(fmt::format("--logit-bias: '{}' is not a token's number and a bias, as in 17=-2.5", text));
  }
  return bias;
}

}  // namespace

std::vector<Option> sampling_options(SamplingOptions& sampling) {
  return {
      option("--temperature T", sampling.temperature,
             "divides the logits before the softmax; 0: always take the most likely token"),
      option("--top-k N", sampling.top_k, "draw from the N most likely tokens; 0: from all"),
      option("--top-p P", sampling.top_p, "draw from the smallest set of tokens whose probability reaches P"),
      option("--min-p P", sampling.min_p, "draw from tokens at least P times as likely as the most likely one"),
      option("--repetition-penalty A", sampling.repetition_penalty,
             "divide positive logits of tokens already in the text by A, multiply negative ones"),
      option("--presence-penalty A", sampling.presence_penalty,
             "subtract A from the logits of tokens already generated"),
      option("--frequency-penalty A", sampling.frequency_penalty,
             "subtract A from a token's logit for each time it was generated"),
      option_each_time(
          "--logit-bias ID=B", [&sampling](const std::string& text) { sampling.logit_bias.push_back(bias_of(text)); },
          "add B, from -100 to 100, to the logit of the token with this number"),
      option("--seed N", sampling.seed, "random seed; the same seed and prompt give the same text")};
}

void take_defaults(const GivenOptions& given, const GenerationOptions& of_model, GenerationOptions& options) {
  given.take("--beam", of_model.beam, options.beam);
  given.take("--max-tokens", of_model.max_tokens, options.max_tokens);
  given.take("--min-tokens", of_model.rules.min_length, options.rules.min_length);
  given.take("--no-repeat-ngram", of_model.rules.no_repeat_ngram, options.rules.no_repeat_ngram);
  SamplingOptions& sampling = options.sampling;
  given.take("--repetition-penalty", of_model.sampling.repetition_penalty, sampling.repetition_penalty);
  if (options.beam > 1) {
    return;
  }
  given.take("--temperature", of_model.sampling.temperature, sampling.temperature);
  given.take("--top-k", of_model.sampling.top_k, sampling.top_k);
  given.take("--top-p", of_model.sampling.top_p, sampling.top_p);
  given.take("--min-p", of_model.sampling.min_p, sampling.min_p);
}

}  // namespace heed::cli
