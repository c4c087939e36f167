#include "report/figures/head_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace heed {
namespace {

struct NamedShare {
  std::string_view name;
  double share;
};

NamedShare largest(const HeadFigures& figures) {
  const std::array<NamedShare, 4> shares{
      {{"previous", figures.previous}, {"diagonal", figures.diagonal}, {"first", figures.first}, {"end", figures.end}}};
  return *std::ranges::max_element(shares, {},
                                   [](const NamedShare& one) { return std::isnan(one.share) ? -1.0 : one.share; });
}

double mean_of(double sum, int64_t rows) { return rows == 0 ? std::nan("") : sum / static_cast<double>(rows); }

}  // namespace

double HeadFigures::largest_share() const { return largest(*this).share; }
std::string_view HeadFigures::mostly_on() const { return largest(*this).name; }

void HeadFiguresSum::add(const std::string& kind, const std::vector<Tensor>& layers, const MapShape& shape) {
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    if (layers[layer].empty() || shape.keys == 0) {
      continue;
    }
    const float* row = layers[layer].data<float>();
    for (int64_t head = 0; head < shape.heads; ++head) {
      Sum& sum = sums_[{kind, static_cast<int64_t>(layer), head}];
      for (int64_t query = 0; query < shape.queries; ++query, row += shape.keys) {
        for (int64_t key = 0; key < shape.keys; ++key) {
          const auto weight = static_cast<double>(row[key]);
          sum.entropy -= weight > 0.0 ? weight * std::log(weight) : 0.0;
          sum.distance += weight * static_cast<double>(std::abs(query - key));
        }
        ++sum.rows;
        sum.first += static_cast<double>(row[0]);
        sum.end += static_cast<double>(row[shape.keys - 1]);
        if (query >= 1 && query - 1 < shape.keys) {
          ++sum.rows_with_previous;
          sum.previous += static_cast<double>(row[query - 1]);
        }
        if (query < shape.keys) {
          ++sum.rows_with_diagonal;
          sum.diagonal += static_cast<double>(row[query]);
        }
      }
    }
  }
}

std::vector<HeadFigures> HeadFiguresSum::take() const {
  std::vector<HeadFigures> all;
  for (const auto& [key, sum] : sums_) {
    all.push_back({.kind = key.kind,
                   .layer = key.layer,
                   .head = key.head,
                   .rows = sum.rows,
                   .entropy = mean_of(sum.entropy, sum.rows),
                   .distance = mean_of(sum.distance, sum.rows),
                   .previous = mean_of(sum.previous, sum.rows_with_previous),
                   .diagonal = mean_of(sum.diagonal, sum.rows_with_diagonal),
                   .first = mean_of(sum.first, sum.rows),
                   .end = key.kind == "decoder" ? std::nan("") : mean_of(sum.end, sum.rows)});
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &HeadFigures::largest_share);
  return all;
}

}  // namespace heed
