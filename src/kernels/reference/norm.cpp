// sum = residual + dropout(branch), normed = norm(sum) * gain + bias, and their gradients.
#include <cmath>

#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {
namespace {

using reference::Values;

double gain_of(const Values& gain, NormGain form, int64_t column) {
  return gain.empty() ? 1.0 : gain(0, column) + (form == NormGain::plus_one ? 1.0 : 0.0);
}
double bias_of(const Values& bias, int64_t column) { return bias.empty() ? 0.0 : bias(0, column); }

// The mean of f(column) over all columns.
template <class F>
double mean_over(int64_t columns, F&& f) {
  double total = 0.0;
  for (int64_t c = 0; c < columns; ++c) {
    total += f(c);
  }
  return total / static_cast<double>(columns);
}

// Calls body(columns_of) for each group, where columns_of(view) gives the group's columns.
template <class Body>
void each_group(int64_t groups, const Body& body) {
  for (int64_t group = 0; group < groups; ++group) {
    body([&](const auto& all) {
      const int64_t width = all.columns() / groups;
      return all.empty() ? all : all.column_range(group * width, width);
    });
  }
}

}  // namespace

void ReferenceBackend::add_norm(const AddNormForward& call) {
  if (call.groups > 1) {
    return each_group(call.groups, [&](const auto& columns_of) {
      AddNormForward group = call;
      group.groups = 1;
      group.residual = columns_of(call.residual);
      group.normed = columns_of(call.normed);
      group.statistics = columns_of(call.statistics);
      add_norm(group);
    });
  }
  Values sum(call.residual), branch(call.branch);
  const Values gain(call.gain), bias(call.bias);
  reference::drop(branch, call.dropout);
  Values normed(sum.rows(), sum.columns()), statistics(sum.rows(), 2);
  for (int64_t r = 0; r < sum.rows() && !branch.empty(); ++r) {
    for (int64_t c = 0; c < sum.columns(); ++c) {
      sum(r, c) += branch(r, c);
    }
  }
  if (!call.sum.empty()) {
    reference::write(sum, call.sum);
    sum = Values(call.sum);
  }
  for (int64_t r = 0; r < sum.rows(); ++r) {
    const double mean =
        call.kind == NormKind::layer ? mean_over(sum.columns(), [&](int64_t c) { return sum(r, c); }) : 0.0;
    const double variance =
        mean_over(sum.columns(), [&](int64_t c) { return (sum(r, c) - mean) * (sum(r, c) - mean); });
    const double inverse_deviation = 1.0 / std::sqrt(variance + call.epsilon);
    for (int64_t c = 0; c < sum.columns(); ++c) {
      normed(r, c) = (sum(r, c) - mean) * inverse_deviation * gain_of(gain, call.gain_form, c) + bias_of(bias, c);
    }
    statistics(r, 0) = mean;
    statistics(r, 1) = inverse_deviation;
  }
  reference::write(normed, call.normed);
  reference::write(statistics, call.statistics);
}

// With n = (sum - mean) / deviation, the normalized row before gain and bias, and g = d_normed * gain:
//   layer: d_sum = (g - mean(g) - n mean(g n)) / deviation        rms: d_sum = (g - n mean(g n)) / deviation
//   d_gain = sum over rows of d_normed * n                        d_bias = sum over rows of d_normed
void ReferenceBackend::add_norm_backward(const AddNormBackward& call) {
  if (call.groups > 1) {
    return each_group(call.groups, [&](const auto& columns_of) {
      AddNormBackward group = call;
      group.groups = 1;
      group.sum = columns_of(call.sum);
      group.statistics = columns_of(call.statistics);
      group.d_normed = columns_of(call.d_normed);
      group.d_sum = columns_of(call.d_sum);
      group.d_residual = columns_of(call.d_residual);
      add_norm_backward(group);
    });
  }
  const Values sum(call.sum), statistics(call.statistics), gain(call.gain), d_normed(call.d_normed), d_sum(call.d_sum);
  const int64_t columns = sum.columns();
  Values total(sum.rows(), columns), d_gain(1, columns), d_bias(1, columns);
  for (int64_t r = 0; r < sum.rows(); ++r) {
    if (!d_normed.empty()) {
      const auto n = [&](int64_t c) { return (sum(r, c) - statistics(r, 0)) * statistics(r, 1); };
      const auto g = [&](int64_t c) { return d_normed(r, c) * gain_of(gain, call.gain_form, c); };
      const double mean_g = call.kind == NormKind::layer ? mean_over(columns, g) : 0.0;
      const double mean_gn = mean_over(columns, [&](int64_t c) { return g(c) * n(c); });
      for (int64_t c = 0; c < columns; ++c) {
        total(r, c) = (g(c) - mean_g - n(c) * mean_gn) * statistics(r, 1);
        d_gain(0, c) += d_normed(r, c) * n(c);
        d_bias(0, c) += d_normed(r, c);
      }
    }
    for (int64_t c = 0; c < columns && !d_sum.empty(); ++c) {
      total(r, c) += d_sum(r, c);
    }
  }
  reference::write(total, call.d_residual, call.write_residual);
  reference::drop(total, call.dropout);
  reference::write(total, call.d_branch);
  reference::write(d_gain, call.d_gain, Write::add);
  reference::write(d_bias, call.d_bias, Write::add);
}

}  // namespace heed
