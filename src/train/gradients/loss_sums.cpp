#include "train/gradients/loss_sums.h"

namespace heed {

void LossSums::add(const LossSums& other) {
  loss += other.loss;
  negative_log_likelihood += other.negative_log_likelihood;
  kl_divergence += other.kl_divergence;
  targets += other.targets;
}

LossSums sums_of(const TokenLosses& losses) {
  return {losses.total_smoothed(), losses.total_negative_log_likelihood(), losses.total_divergence()};
}

std::vector<LossSums> gathered(const Ranks& ranks, const std::vector<LossSums>& own) {
  std::vector<LossSums> all(own.size() * static_cast<size_t>(ranks.count()));
  ranks.all_gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  return all;
}

}  // namespace heed
