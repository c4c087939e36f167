#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "decode/drafts/drafter.h"
#include "decode/translator_testing.h"

namespace heed::test {
namespace {

using testing::IsEmpty;
using testing::Not;

TEST(ModelDrafter, ATrialIsOfTheFirstTextThatTheModelReads) {
  const RandomTranslator random;
  const auto drafter = make_model_drafter({*random.model, DType::f32}, *random.backend);
  DraftLengthPolicy policy(0);
  while (policy.next_most(3) == 0) {
    policy.add({.texts = 3, .written = 3, .seconds = 1.0});
  }
  ASSERT_TRUE(policy.is_trial());
  const std::vector<int32_t> too_long(41, 5), source{5, 6, 7}, tokens{2};
  const TokenCounts counts;
  const Sampler greedy({.temperature = 0.0}, {});
  std::vector<DraftTask> tasks;
  for (const auto& [text, read] : {std::pair{1, &too_long}, std::pair{2, &source}, std::pair{3, &source}}) {
    tasks.push_back({.text = text,
                     .source = *read,
                     .tokens = tokens,
                     .counts = counts,
                     .sampler = greedy,
                     .draw = {{}, 0},
                     .most = 4});
  }
  std::vector<Draft> drafts(tasks.size());
  EXPECT_EQ(drafter->draft(tasks, policy, drafts).texts, 1);
  EXPECT_THAT(drafts[0].tokens, IsEmpty());
  EXPECT_THAT(drafts[1].tokens, Not(IsEmpty()));
  EXPECT_THAT(drafts[2].tokens, IsEmpty());
}

}  // namespace
}  // namespace heed::test
