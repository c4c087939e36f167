// Label-smoothed cross-entropy of logits, and of an output projection.
//   z = x W^T + b, or cap * tanh of that / cap    q = (1 - s) onehot(target) + s / V
//   loss = lse(z) - q.z    d_logits = softmax(z) - q
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {
namespace {

using reference::Values;

double log_sum_exp_of_row(const Values& z, int64_t r) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t c = 0; c < z.columns(); ++c) {
    largest = std::max(largest, z(r, c));
  }
  double sum = 0.0;
  for (int64_t c = 0; c < z.columns(); ++c) {
    sum += std::exp(z(r, c) - largest);
  }
  return largest + std::log(sum);
}

bool has_nan(std::span<const ConstView> views, int64_t r, int64_t c) {
  return std::ranges::any_of(views, [&](const ConstView& view) { return std::isnan(reference::get(view, r, c)); });
}

// Writes the losses; returns d_z.
Values smoothed_cross_entropy(const Values& z, const ConstView& targets, double smoothing, const View& losses_view) {
  Values losses(z.rows(), 2), d_logits(z.rows(), z.columns());
  for (int64_t r = 0; r < z.rows(); ++r) {
    const int64_t target = host<int32_t>(targets)(0, r);
    if (target < 0) {
      continue;
    }
    const double lse = log_sum_exp_of_row(z, r);
    double expected = 0.0;  // q.z
    for (int64_t c = 0; c < z.columns(); ++c) {
      const double q = (c == target ? 1.0 - smoothing : 0.0) + smoothing / static_cast<double>(z.columns());
      expected += q * z(r, c);
      d_logits(r, c) = std::exp(z(r, c) - lse) - q;
    }
    losses(r, 0) = lse - expected;
    losses(r, 1) = lse - z(r, target);
  }
  reference::write(losses, losses_view);
  return d_logits;
}

}  // namespace

void ReferenceBackend::output_loss(const OutputLoss& call) {
  Values z = reference::affine(call.x, call.weight, Values(call.bias));
  for (int64_t r = 0; call.cap > 0.0 && r < z.rows(); ++r) {
    for (int64_t c = 0; c < z.columns(); ++c) {
      z(r, c) = call.cap * std::tanh(z(r, c) / call.cap);
    }
  }
  Values d_z = smoothed_cross_entropy(z, call.targets, call.smoothing, call.losses);
  for (int64_t r = 0; call.cap > 0.0 && r < z.rows(); ++r) {
    for (int64_t c = 0; c < z.columns(); ++c) {
      d_z(r, c) *= 1.0 - (z(r, c) / call.cap) * (z(r, c) / call.cap);
    }
  }
  reference::write(d_z, call.d_logits);
}

void ReferenceBackend::cross_entropy(const CrossEntropy& call) {
  reference::write(smoothed_cross_entropy(Values(call.logits), call.targets, call.smoothing, call.losses),
                   call.d_logits);
}

void ReferenceBackend::log_softmax(ConstView logits, View log_probs) {
  Values z(logits);
  for (int64_t r = 0; r < z.rows(); ++r) {
    const double lse = log_sum_exp_of_row(z, r);
    for (int64_t c = 0; c < z.columns(); ++c) {
      z(r, c) -= lse;
    }
  }
  reference::write(z, log_probs);
}

void ReferenceBackend::selected_log_softmax(const SelectedLogSoftmax& call) {
  const Values logits(call.logits);
  const HostView<const int32_t> columns = host<int32_t>(call.columns), ranges = host<int32_t>(call.ranges);
  Values log_probs(call.log_probs.rows(), call.log_probs.columns());
  for (int64_t r = 0; r < log_probs.rows(); ++r) {
    const int64_t begin = ranges(0, r), count = ranges(1, r) - begin;
    Values z(1, count);
    for (int64_t i = 0; i < count; ++i) {
      z(0, i) = logits(r, columns(0, begin + i));
    }
    const double lse = log_sum_exp_of_row(z, 0);
    for (int64_t i = 0; i < log_probs.columns(); ++i) {
      log_probs(r, i) = i < count ? z(0, i) - lse : -std::numeric_limits<double>::infinity();
    }
  }
  reference::write(log_probs, call.log_probs);
}

void ReferenceBackend::average_probabilities(const AverageProbabilities& call) {
  const auto models = static_cast<double>(call.log_probs.size());
  for (int64_t r = 0; r < call.mean.rows(); ++r) {
    for (int64_t c = 0; c < call.mean.columns(); ++c) {
      double sum = 0.0, largest = -std::numeric_limits<double>::infinity();
      for (const ConstView& of_model : call.log_probs) {
        largest = std::max(largest, reference::get(of_model, r, c));  // which passes over NaN
      }
      for (const ConstView& of_model : call.log_probs) {
        sum += std::exp(reference::get(of_model, r, c) - largest);
      }
      const bool nothing = std::isinf(largest) && !has_nan(call.log_probs, r, c);
      reference::set(call.mean, r, c, nothing ? largest : largest + std::log(sum / models));
    }
  }
}

}  // namespace heed
