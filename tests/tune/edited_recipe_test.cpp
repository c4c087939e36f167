#include "tune/edited_recipe.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

constexpr std::string_view kFile = R"(# Mine.
[model]   # small
model = 64

[schedule]
# Why.
  peak=0.001  # careful
warmup = 10
)";

TEST(EditedRecipe, KeysThatAreThereGetTheValueAndTheRestStays) {
  EXPECT_EQ(edited_recipe(kFile, {{"schedule", "peak", "0.002", "was 0.001"}}), R"(# Mine.
[model]   # small
model = 64

[schedule]
# Why.
peak = 0.002  # was 0.001
warmup = 10
)");
}

TEST(EditedRecipe, OthersAreAddedToTheirTable) {
  const std::string edited = edited_recipe(kFile, {{"model", "heads", "2", ""}, {"training", "seed", "3", ""}});
  EXPECT_NE(edited.find("[model]   # small\nheads = 2\nmodel = 64\n"), std::string::npos) << edited;
  EXPECT_TRUE(edited.ends_with("\n[training]\nseed = 3\n")) << edited;
}

TEST(EditedRecipe, AKeyOfAnotherTableIsNotTouched) {
  const std::string edited = edited_recipe(kFile, {{"model", "peak", "9", ""}});
  EXPECT_NE(edited.find("peak=0.001  # careful"), std::string::npos) << edited;
}

}  // namespace
}  // namespace heed
