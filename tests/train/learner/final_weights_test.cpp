#include "train/learner/final_weights.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "checkpoint/weights.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/any_model.h"
#include "test_folder.h"

namespace heed::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<Candidate> kCandidates{{10, 1.0}, {20, 4.0}, {30, 2.0}, {40, 4.0}, {50, 3.0}};

std::vector<int64_t> chosen(FinalWeights weights, int64_t average,
                            const std::vector<Candidate>& candidates = kCandidates) {
  return final_updates({.average = average, .final_weights = weights}, candidates);
}

TEST(FinalUpdates, AreTheBestOrTheNewest) {
  EXPECT_THAT(chosen(FinalWeights::best, 3), ElementsAre(20)) << "of equals, the earlier";
  EXPECT_THAT(chosen(FinalWeights::average_of_best, 3), ElementsAre(20, 40, 50));
  EXPECT_THAT(chosen(FinalWeights::average_of_last, 3), ElementsAre(50, 40, 30));
  EXPECT_THAT(chosen(FinalWeights::average_of_last, 9), ElementsAre(50, 40, 30, 20, 10));
}

TEST(FinalUpdates, AreNoneIfOnlyTheLastWeightsCount) {
  EXPECT_THAT(chosen(FinalWeights::last, 3), IsEmpty());
  EXPECT_THAT(chosen(FinalWeights::moving_average, 3), IsEmpty());
  EXPECT_THAT(chosen(FinalWeights::best, 3, {}), IsEmpty());
  EXPECT_THAT(chosen(FinalWeights::average_of_best, 3, {}), IsEmpty());
}

class CheckpointAverage : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    model_.emplace(Scope(weights_), config_);
    trainables_.emplace(*backend_, weights_, DType::f32, Trainables::Gradients::none);
    optimizer_moments_ = Tensor({1}, DType::f32);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Saves a checkpoint whose weights are all `value`.
  void checkpoint(int64_t update, float value) {
    const View all = trainables_->masters();
    std::fill_n(static_cast<float*>(host_address(all)), all.elements(), value);
    const View any = optimizer_moments_.view();
    checkpoints_.save({.update = update}, {trainables_->masters(), {any, any, any}, {}}, *trainables_);
  }

  ModelConfig config_{.model = 8,
                      .inner = 8,
                      .heads = 2,
                      .encoder_layers = 1,
                      .decoder_layers = 1,
                      .source_vocabulary = 5,
                      .target_vocabulary = 7};
  std::filesystem::path folder_ = test::folder_of_test();
  std::unique_ptr<Backend> backend_ = make_cpu_backend(1);
  Checkpoints checkpoints_{folder_ / "checkpoints"};
  Weights weights_;
  std::optional<AnyModel> model_;
  std::optional<Trainables> trainables_;
  Tensor optimizer_moments_;
};

TEST_F(CheckpointAverage, IsTheMeanAndNamesItsCheckpoints) {
  checkpoint(1, 1.0F);
  checkpoint(2, 2.0F);
  checkpoint(3, 6.0F);
  write_average(*backend_, {config_, AdapterConfig(), {}}, checkpoints_, std::vector<int64_t>{3, 1, 2},
                folder_ / "average.safetensors");
  load_masters(folder_ / "average.safetensors", *backend_, *trainables_);
  for (const Weight& weight : weights_.all()) {
    const View master = weight.trainable().master();
    for (int64_t i = 0; i < master.elements(); ++i) {
      ASSERT_NEAR(host<float>(master).data[i], 3.0F, 1e-6F) << weight.name();
    }
  }
  EXPECT_EQ(SafeTensors(folder_ / "average.safetensors").metadata().at("updates"), "3,1,2");
}

}  // namespace
}  // namespace heed::test
