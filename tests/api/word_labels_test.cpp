// Probabilities of the labels of words.
#include <algorithm>

#include "api/random_encoder.h"
#include "heed/encoder.h"

namespace heed {
namespace {

using WordLabels = RandomEncoderTest;

TEST_F(WordLabels, EachWordHasTheProbabilitiesOfAllLabels) {
  make(Head::token_labels);
  const Encoder encoder(folder_.string());
  const std::vector<std::vector<std::string>> sentences{{"one", "two"}, {"three"}};
  const auto labels = encoder.tag(sentences);
  const auto scores = encoder.tag_scores(sentences);
  ASSERT_EQ(scores.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(scores[i].size(), sentences[i].size());
    for (size_t word = 0; word < scores[i].size(); ++word) {
      ASSERT_EQ(scores[i][word].scores.size(), 3U);
      double sum = 0.0, most = 0.0, of_label = 0.0;
      for (const LabelScore& score : scores[i][word].scores) {
        sum += score.probability;
        most = std::max(most, score.probability);
        of_label = score.label == labels[i][word] ? score.probability : of_label;
      }
      EXPECT_EQ(of_label, most);
      EXPECT_NEAR(sum, 1.0, 1e-12);
      EXPECT_EQ(scores[i][word].labels, std::vector<std::string>{labels[i][word]});
    }
  }
}

}  // namespace
}  // namespace heed
