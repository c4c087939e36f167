#include "nn/weights/collected_parts.h"

#include <algorithm>

namespace heed {
namespace {

std::span<float> floats_of(const View& view) {
  ensure(view.contiguous(), "parts", "{} is not contiguous", view);
  return {host<float>(view).data, static_cast<size_t>(view.elements())};
}

RankElements rank_elements(const Weights& weights, size_t weight, int rank) {
  return {weights.own_elements(weight).whole(), weights.division(weight), weights.parts(), rank};
}

size_t count_of(const RankElements& elements) { return static_cast<size_t>(elements.shape().elements()); }

void put(const RankElements& elements, std::span<const float> part, std::span<float> whole) {
  elements.each_stretch([&](int64_t first, int64_t of_whole, int64_t count) {
    std::ranges::copy(part.subspan(static_cast<size_t>(first), static_cast<size_t>(count)), whole.begin() + of_whole);
  });
}

void take(const RankElements& elements, std::span<const float> whole, std::span<float> part) {
  elements.each_stretch([&](int64_t first, int64_t of_whole, int64_t count) {
    std::ranges::copy(whole.subspan(static_cast<size_t>(of_whole), static_cast<size_t>(count)), part.begin() + first);
  });
}

void send(const Ranks& ranks, int to, std::span<const float> values) {
  Transfer transfer = ranks.send(to, Channel::state, std::as_bytes(values));
  ranks.wait(transfer);
}

void receive(const Ranks& ranks, int from, std::span<float> values) {
  Transfer transfer = ranks.receive(from, Channel::state, std::as_writable_bytes(values));
  ranks.wait(transfer);
}

}  // namespace

ValuesOfWeights values_in(const Trainables& trainables, View flat) {
  const auto& weights = trainables.weights().all();
  ValuesOfWeights values(weights.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (trainables.treatment_of(i) == WeightTreatment::trained) {
      values[i] = flat.column_range(trainables.offset(i), weights[i].shape().elements());
    }
  }
  return values;
}

ValuesOfWeights masters_of(const Trainables& trainables) {
  ValuesOfWeights values;
  values.reserve(trainables.weights().all().size());
  for (const Weight& weight : trainables.weights().all()) {
    values.push_back(weight.has_trainable() ? weight.trainable().master() : View());
  }
  return values;
}

void collect_parts(const Weights& weights, const ValuesOfWeights& own, const ValuesOfWeights& whole) {
  const Ranks& ranks = weights.parts().ranks();
  std::vector<float> received;
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i].empty()) {
      continue;
    }
    if (!ranks.is_first()) {
      if (weights.is_divided(i)) {
        send(ranks, 0, floats_of(own[i]));
      }
      continue;
    }
    put(weights.own_elements(i), floats_of(own[i]), floats_of(whole[i]));
    for (int rank = 1; weights.is_divided(i) && rank < ranks.count(); ++rank) {
      const RankElements elements = rank_elements(weights, i, rank);
      received.resize(count_of(elements));
      receive(ranks, rank, received);
      put(elements, received, floats_of(whole[i]));
    }
  }
}

void take_own_parts(const Weights& weights, const ValuesOfWeights& whole, const ValuesOfWeights& own) {
  for (size_t i = 0; i < own.size(); ++i) {
    if (!own[i].empty()) {
      take(weights.own_elements(i), floats_of(whole[i]), floats_of(own[i]));
    }
  }
}

}  // namespace heed
