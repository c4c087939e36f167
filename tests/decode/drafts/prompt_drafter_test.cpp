#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "decode/drafts/drafter.h"

namespace heed::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using Ids = std::vector<int32_t>;

Ids looked_up(Drafter& drafter, const Ids& source, const Ids& tokens, int64_t most = 4) {
  const DraftLengthPolicy policy(4);
  const TokenCounts counts;
  const Sampler sampler({}, {});
  const std::vector<DraftTask> tasks{
      {.text = 1, .source = source, .tokens = tokens, .counts = counts, .sampler = sampler, .draw = {}, .most = most}};
  std::vector<Draft> drafts(1);
  drafter.draft(tasks, policy, drafts);
  return drafts[0].tokens;
}

TEST(PromptDrafter, DraftsWhatFollowedTheLongestMatch) {
  const auto drafter = make_prompt_drafter(SourceVocabulary::other);
  EXPECT_THAT(looked_up(*drafter, {}, {5, 1, 2, 3, 7, 8, 9, 6, 1, 2, 3, 4, 4, 5, 1, 2, 3}), ElementsAre(7, 8, 9, 6));
  EXPECT_THAT(looked_up(*make_prompt_drafter(SourceVocabulary::other), {}, {1, 2, 3, 7, 1, 2, 3}, 5),
              ElementsAre(7, 1, 2, 3, 7))
      << "and goes round";
  EXPECT_THAT(looked_up(*make_prompt_drafter(SourceVocabulary::other), {}, {1, 2, 3, 7, 0, 2, 3}), SizeIs(0));
}

TEST(PromptDrafter, LooksIntoTheSourceIfItIsInTheSameVocabulary) {
  const Ids source{9, 8, 7, 6, 5, 3};
  EXPECT_THAT(looked_up(*make_prompt_drafter(SourceVocabulary::same), source, {2, 9, 8, 7}), ElementsAre(6, 5, 3, 2));
  EXPECT_THAT(looked_up(*make_prompt_drafter(SourceVocabulary::other), source, {2, 9, 8, 7}), SizeIs(0));
}

}  // namespace
}  // namespace heed::test
