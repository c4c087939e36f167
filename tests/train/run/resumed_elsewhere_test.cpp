#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "train/training_testing.h"

namespace heed::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class ResumedElsewhere : public TrainingTest {
 protected:
  void SetUp() override {
    TrainingTest::SetUp();
    train_to(8, TrainStart::fresh);
    listening_.messages.clear();
  }

  void train_to(int64_t update, TrainStart start = TrainStart::resume) {
    Recipe recipe = small_recipe();
    recipe.training.updates = update;
    EXPECT_EQ(train(recipe, "run", start), EndReason::updates);
  }

  // The state of update 8 as if another machine had written it; empty: one that says nothing of that.
  std::string written_by(const std::string& arithmetic) {
    const std::filesystem::path path = folder_ / "run" / "checkpoints" / "update-00000008" / "state.json";
    nlohmann::json root = nlohmann::json::parse(read_file(path));
    const std::string here = root.at("arithmetic");
    root.erase("checksum");
    root.erase("arithmetic");
    if (!arithmetic.empty()) {
      root["arithmetic"] = arithmetic;
    }
    root["checksum"] = checksum_of(root.dump(2));
    write_file(path, root.dump(2));
    return here;
  }
};

TEST_F(ResumedElsewhere, ARunOfTheOtherFamilyOfProcessorsGoesOnAndSaysThatItsBitsDiffer) {
#if defined(__aarch64__)
  const std::string elsewhere = "cpu, AVX-512";
#else
  const std::string elsewhere = "cpu, NEON";
#endif
  const std::string here = written_by(elsewhere);
  train_to(16);
  EXPECT_THAT(listening_.messages, Contains("so far it was computed by " + elsewhere + ", and now by " + here +
                                            ": from here on it has other bits"));
  listening_.messages.clear();
  train_to(24);
  EXPECT_THAT(listening_.messages, Not(Contains(HasSubstr("other bits"))));
}

TEST_F(ResumedElsewhere, ARunOfAVersionThatWroteNoProcessorSaysNothing) {
  written_by("");
  train_to(16);
  EXPECT_THAT(listening_.messages, Contains("resuming after update 8"));
  EXPECT_THAT(listening_.messages, Not(Contains(HasSubstr("other bits"))));
}

}  // namespace
}  // namespace heed::test
