#include "serve/json/logit_bias.h"

#include <charconv>

namespace heed::serve {

void take_logit_bias(Fields& fields, SamplingOptions& sampling) {
  const char* const name = "logit_bias";
  const Json* const given = fields.find(name);
  if (given == nullptr) {
    return;
  }
  if (!given->is_object()) {
    refuse_field(fields.path_of(name), "is {}, expected an object of tokens' numbers and biases", given->type_name());
  }
  for (const auto& [key, value] : given->items()) {
    TokenBias one;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), one.token);
    if (error != std::errc() || end != key.data() + key.size()) {
      refuse_field(fields.path_of(name), "has \"{}\", expected the number of a token", key);
    }
    one.bias = value.is_number() ? value.get<double>() : 2.0 * kMaxTokenBias;
    if (!(std::abs(one.bias) <= kMaxTokenBias)) {
      refuse_field(fields.path_of(name), "of token {} is {}, expected a number from {} to {}", key, to_text(value),
                   -kMaxTokenBias, kMaxTokenBias);
    }
    sampling.logit_bias.push_back(one);
  }
}

}  // namespace heed::serve
