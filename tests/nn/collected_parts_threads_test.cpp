#include "nn/weights/collected_parts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ranks/thread_transport.h"

namespace heed {
namespace {

// A weight divided in each way, with sizes that three ranks share unevenly.
void register_all(const Scope& scope) {
  const Linear outputs(scope / "outputs", {.inputs = 5, .outputs = 9, .op = {}, .divided = Divided::outputs});
  const Linear stacked(scope / "stacked", {.inputs = 4,
                                           .outputs = 13,
                                           .op = {},
                                           .divided = Divided::outputs,
                                           .roles = {{WeightRole::key, 6}, {WeightRole::value, 7}}});
  const Linear inputs(scope / "inputs", {.inputs = 7, .outputs = 3, .op = {}, .divided = Divided::inputs});
  const Norm norm(scope / "norm", WeightRole::final_norm, {.width = 6});
  const Norm shared(scope / "shared", WeightRole::query_norm, {.width = 6}, Division::shared_by_heads());
}

std::vector<float> floats(const ConstView& flat) {
  const HostView<const float> view = host<float>(flat);
  return {view.data, view.data + view.columns};
}

class CollectedParts : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, CollectedParts, testing::Values(2, 3));

// What parts begin with is what the whole begins with, there and back.
TEST_P(CollectedParts, AreTheWholeAndAreTakenFromIt) {
  const auto backend = make_cpu_backend(1);
  Weights whole_weights;
  register_all(Scope(whole_weights));
  Trainables whole(*backend, whole_weights, DType::f32);
  whole.initialize(*backend, 3);
  const std::vector<float> expected = floats(whole.masters());
  run_thread_ranks(GetParam(), [&](Transport& transport) {
    const auto own_backend = make_cpu_backend(1);
    const Parts parts{Ranks(transport)};
    Weights weights(parts);
    register_all(Scope(weights));
    EXPECT_EQ(weights.elements(), whole_weights.elements());
    Trainables trainables(*own_backend, weights, DType::f32);
    trainables.initialize(*own_backend, 3);
    const std::vector<float> before = floats(trainables.masters());
    Weights all_weights;
    register_all(Scope(all_weights));
    Trainables all(*own_backend, all_weights, DType::f32);
    const bool first = transport.rank() == 0;
    const ValuesOfWeights collected = first ? values_in(all, all.masters()) : ValuesOfWeights();
    collect_parts(weights, values_in(trainables, trainables.masters()), collected);
    if (first) {
      EXPECT_EQ(floats(all.masters()), expected);
    }
    own_backend->fill(trainables.masters(), -1.0);
    all.initialize(*own_backend, 3);
    take_own_parts(weights, masters_of(all), masters_of(trainables));
    for (size_t i = 0; i < weights.all().size(); ++i) {
      const auto from = before.begin() + trainables.offset(i);
      const View master = weights.all()[i].trainable().master();
      EXPECT_TRUE(std::equal(from, from + master.elements(), host<float>(master).data)) << weights.all()[i].name();
    }
  });
}

}  // namespace
}  // namespace heed
