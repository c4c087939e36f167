#include "models/reach.h"

#include <gmock/gmock.h>

#include "kernels/cpu/cpu_backend.h"
#include "models/model_testing.h"

namespace heed::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int64_t> reached(const std::vector<VisibilityByHead>& visibility, int64_t layers, ChangedToken changed) {
  const std::vector<bool> flags = reached_positions(visibility, layers, changed);
  std::vector<int64_t> positions;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i]) {
      positions.push_back(static_cast<int64_t>(i));
    }
  }
  return positions;
}

constexpr auto kFull = Visibility::Reach::full, kCausal = Visibility::Reach::causal;

TEST(Reach, FullAttentionReachesAllAndCausalOnlyWhatComesLater) {
  EXPECT_THAT(reached({Visibility::full()}, 1, {4, 2}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(reached({Visibility::causal()}, 5, {4, 2}), ElementsAre(2, 3));
  EXPECT_THAT(reached({Visibility::full()}, 0, {4, 2}), ElementsAre(2));
}

TEST(Reach, AWindowReachesOneWindowFurtherWithEachLayer) {
  EXPECT_THAT(reached({Visibility::local(kFull, 2)}, 1, {8, 3}), ElementsAre(2, 3, 4));
  EXPECT_THAT(reached({Visibility::local(kFull, 2)}, 2, {8, 3}), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(reached({Visibility::local(kCausal, 3)}, 2, {9, 1}), ElementsAre(1, 2, 3, 4, 5));
}

TEST(Reach, LayersTakeTurnsAndHeadsAddUp) {
  const Visibility strided = Visibility::strided(kFull, 3), local = Visibility::local(kFull, 2);
  EXPECT_THAT(reached({strided, local}, 2, {7, 3}), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(reached({VisibilityByHead({strided, local})}, 1, {7, 3}), ElementsAre(0, 2, 3, 4, 6));
}

// The rows of the stack's output that change with token 2 of the first of two sequences.
std::vector<int64_t> changed_rows(const ModelConfig& config) {
  const auto backend = make_cpu_backend(1);
  TestModel one(*backend, DType::f32, config);
  const auto output = [&](int32_t token) {
    Pass pass = Pass::infer(*backend, DType::f32);
    const Sequences sequences({{1, 2, token, 4, 5, 6}, {3, 1, 2}});
    return config.architecture == Architecture::encoder ? one.model().encoder_only().hidden(pass, sequences).var()
                                                        : one.model().causal_lm().hidden(pass, sequences).var();
  };
  return differing_rows(output(3).value(), output(7).value());
}

TEST(Reach, IsWhatAModelsOutputsDo) {
  ModelConfig decoder = small_config(Architecture::causal_lm), encoder = small_config(Architecture::encoder);
  EXPECT_THAT(changed_rows(decoder), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(changed_rows(encoder), ElementsAre(0, 1, 2, 3, 4, 5));
  encoder.encoder_layers = 1;
  encoder.window = 2;
  EXPECT_THAT(changed_rows(encoder), ElementsAre(1, 2, 3));
}

TEST(Reach, RowsThatAreEqualToTheBitDoNotDiffer) {
  const Tensor zeros({2, 3}, DType::f32);
  Tensor other({2, 3}, DType::f32);
  EXPECT_THAT(differing_rows(zeros.view(), other.view()), IsEmpty());
  other.data<float>()[5] = -0.0F;
  EXPECT_THAT(differing_rows(zeros.view(), other.view()), ElementsAre(1));
}

}  // namespace
}  // namespace heed::test
