#include "api/inside/likely_tokens.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/host_copy.h"
#include "ops/rows/select_rows.h"

namespace heed {
namespace {

constexpr size_t kContext = 8;  // tokens before one that say how it is written: whether a space goes before it

// The logits of the token after these.
std::vector<double> logits_after(const Inference& inference, const std::vector<int32_t>& tokens) {
  const CausalLM& model = inference.model.causal_lm();
  Pass pass = Pass::infer(inference.backend, inference.storage);
  const Sequences sequences({tokens});
  const Hidden all = model.hidden(pass, sequences);
  const auto last = static_cast<int32_t>(tokens.size() - 1);
  const Logits logits = model.logits(pass, Hidden(select_rows(pass, all.var(), std::span(&last, 1))));
  const HostCopy copy(inference.backend, logits.var().value());
  const auto row = host<float>(copy.view());
  return {row.row(0), row.row(0) + row.columns};
}

double log_sum_exp(const std::vector<double>& logits) {
  const double most = *std::ranges::max_element(logits);
  return most + std::log(std::accumulate(logits.begin(), logits.end(), 0.0,
                                         [&](double sum, double logit) { return sum + std::exp(logit - most); }));
}

// An ensemble's are the logarithms of the mean probabilities.
std::vector<double> logits_of_all(const Inference& inference, const std::vector<int32_t>& tokens) {
  const std::vector<Inference> members = inference.members();
  if (members.size() == 1) {
    return logits_after(inference, tokens);
  }
  std::vector<double> mean;
  for (const Inference& member : members) {
    const std::vector<double> logits = logits_after(member, tokens);
    const double all = log_sum_exp(logits);
    mean.resize(logits.size());
    for (size_t i = 0; i < logits.size(); ++i) {
      mean[i] += std::exp(logits[i] - all) / static_cast<double>(members.size());
    }
  }
  std::ranges::transform(mean, mean.begin(), [](double p) { return std::log(p); });
  return mean;
}

}  // namespace

std::vector<NextToken> likely_tokens(const Inference& inference, const Tokenizer& tokenizer,
                                     const std::vector<int32_t>& tokens, int64_t count) {
  const std::vector<double> logits = logits_of_all(inference, tokens);
  const double all = log_sum_exp(logits);
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto some = std::min(count, std::ssize(order));
  std::ranges::partial_sort(order, order.begin() + some, [&](int32_t a, int32_t b) {
    const double x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  });
  std::vector<TokenId> written;
  for (size_t i = tokens.size() - std::min(tokens.size(), kContext); i < tokens.size(); ++i) {
    written.emplace_back(tokens[i]);
  }
  const std::string before = tokenizer.decode(written);
  std::vector<NextToken> found;
  found.reserve(static_cast<size_t>(some));
  for (int64_t i = 0; i < some; ++i) {
    const TokenId token(order[static_cast<size_t>(i)]);
    written.push_back(token);
    const std::string after = tokenizer.decode(written);
    written.pop_back();
    const double logit = logits[static_cast<size_t>(token.value)];
    found.push_back({{.piece = std::string(tokenizer.piece(token)),
                      .log_probability = logit - all,
                      .id = token.value,
                      .bytes = tokenizer.token_bytes(token)},
                     after.starts_with(before) ? after.substr(before.size()) : "",
                     logit});
  }
  return found;
}

}  // namespace heed
