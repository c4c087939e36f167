#include <gtest/gtest.h>

#include <vector>

#include "api/random_encoder.h"
#include "bindings/c/c_models.h"
#include "heed/encoder.h"

namespace heed::test {
namespace {

class CReading : public RandomEncoderTest {
 protected:
  EncoderOwner open(Head head) {
    make(head);
    heed_encoder* encoder = nullptr;
    HEED_EXPECT_OK(heed_encoder_open(folder_.string().c_str(), make_options({{HEED_THREADS, 1}}).get(), &encoder));
    return EncoderOwner(encoder);
  }
};

const std::vector<const char*> kTexts{"abc", "d e f", "xyz"};

TEST_F(CReading, EmbedsIntoTheCallersArray) {
  const EncoderOwner encoder = open(Head::one_label);
  size_t width = 0;
  HEED_ASSERT_OK(heed_encoder_width(encoder.get(), &width));
  ASSERT_EQ(width, 16U);
  std::vector<float> found(3 * width + 1, -5.0F);
  const OptionsOwner options = make_options({{HEED_NORMALIZE, 1}});
  HEED_EXPECT_OK(heed_options_set_text(options.get(), HEED_POOLING, "max", HEED_TERMINATED));
  const auto embed = [&](size_t capacity) {
    return heed_encoder_embed(encoder.get(), kTexts.data(), nullptr, nullptr, nullptr, 3, options.get(), found.data(),
                              capacity);
  };
  EXPECT_EQ(message_of(embed(3 * width - 1)), "embeddings has room for 47 numbers, but 3 texts have 16 each");
  EXPECT_EQ(found.front(), -5.0F);
  HEED_ASSERT_OK(embed(found.size()));
  EXPECT_EQ(found.back(), -5.0F);
  const Encoder expected(folder_.string(), {.threads = 1});
  const std::vector<std::string> texts(kTexts.begin(), kTexts.end());
  const auto reference = expected.embed(texts, {.pooling = Pooling::max, .normalized = Normalized::yes});
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::vector<float>(&found[i * width], &found[(i + 1) * width]), reference[i]);
  }
}

TEST_F(CReading, Classifies) {
  const EncoderOwner encoder = open(Head::one_label);
  heed_labels* labels = nullptr;
  HEED_ASSERT_OK(heed_encoder_classify(encoder.get(), kTexts.data(), nullptr, nullptr, nullptr, 3, nullptr, &labels));
  const Encoder expected(folder_.string(), {.threads = 1});
  const std::vector<std::string> texts(kTexts.begin(), kTexts.end());
  const std::vector<TextLabels> reference = expected.classify(texts);
  for (size_t i = 0; i < 3; ++i) {
    size_t count = 0;
    const char* label = nullptr;
    double probability = 0.0;
    HEED_EXPECT_OK(heed_labels_words(labels, i, &count));
    EXPECT_EQ(count, 1U);
    HEED_EXPECT_OK(heed_labels_chosen(labels, i, 0, &count));
    EXPECT_EQ(count, 1U);
    HEED_EXPECT_OK(heed_labels_label(labels, i, 0, 0, &label, nullptr));
    EXPECT_EQ(std::string(label), reference[i].labels.front());
    HEED_EXPECT_OK(heed_labels_scores(labels, i, 0, &count));
    ASSERT_EQ(count, 3U);
    HEED_EXPECT_OK(heed_labels_score(labels, i, 0, 2, &label, nullptr, &probability));
    EXPECT_EQ(std::string(label), "c");
    EXPECT_EQ(probability, reference[i].scores[2].probability);
  }
  EXPECT_EQ(code_of(heed_labels_texts(labels, nullptr)), HEED_ERROR_ARGUMENT);
  heed_labels_free(labels);
  // Pairs.
  HEED_ASSERT_OK(
      heed_encoder_classify(encoder.get(), kTexts.data(), nullptr, kTexts.data() + 1, nullptr, 1, nullptr, &labels));
  const std::vector<TextPair> pairs{{kTexts[0], kTexts[1]}};
  const char* label = nullptr;
  double probability = 0.0;
  HEED_EXPECT_OK(heed_labels_score(labels, 0, 0, 0, &label, nullptr, &probability));
  EXPECT_EQ(probability, expected.classify(pairs).front().scores.front().probability);
  EXPECT_NE(probability, reference.front().scores.front().probability);
  heed_labels_free(labels);
}

TEST_F(CReading, TagsWordsAndShowsAttention) {
  const EncoderOwner encoder = open(Head::token_labels);
  const char* const words[] = {"a", "bc", "d", "e", "f"};
  const size_t counts[] = {2, 3};
  heed_labels* labels = nullptr;
  HEED_ASSERT_OK(heed_encoder_tag(encoder.get(), words, nullptr, counts, 2, nullptr, &labels));
  size_t count = 0;
  HEED_EXPECT_OK(heed_labels_words(labels, 1, &count));
  EXPECT_EQ(count, 3U);
  const Encoder expected(folder_.string(), {.threads = 1});
  const std::vector<std::vector<std::string>> sentences{{"a", "bc"}, {"d", "e", "f"}};
  const char* label = nullptr;
  HEED_EXPECT_OK(heed_labels_label(labels, 1, 2, 0, &label, nullptr));
  EXPECT_EQ(std::string(label), expected.tag(sentences)[1][2]);
  heed_labels_free(labels);
  heed_attention* attention = nullptr;
  HEED_ASSERT_OK(heed_encoder_attention(encoder.get(), "abc", HEED_TERMINATED, nullptr, &attention));
  HEED_EXPECT_OK(heed_attention_maps(attention, &count));
  EXPECT_EQ(count, 4U) << "two layers of two heads";
  heed_attention_free(attention);
}

TEST_F(CReading, FillsMasks) {
  const EncoderOwner encoder = open(Head::tokens);
  const char* const texts[] = {"a<mask>c"};
  heed_guesses* guesses = nullptr;
  const OptionsOwner options = make_options({{HEED_GUESSES, 2}});
  HEED_ASSERT_OK(heed_encoder_fill(encoder.get(), texts, nullptr, 1, options.get(), &guesses));
  const Encoder expected(folder_.string(), {.threads = 1});
  const std::vector<std::string> lines{texts[0]};
  const FilledText reference = expected.fill(lines, {.top = 2}).front();
  const char* text = nullptr;
  size_t count = 0;
  HEED_EXPECT_OK(heed_guesses_text(guesses, 0, &text, nullptr));
  EXPECT_EQ(std::string(text), reference.text);
  HEED_EXPECT_OK(heed_guesses_count(guesses, 0, 0, &count));
  ASSERT_EQ(count, 2U);
  int32_t id = -1;
  double probability = 0.0;
  HEED_EXPECT_OK(heed_guesses_guess(guesses, 0, 0, 1, &text, nullptr, &id, &probability));
  EXPECT_EQ(id, reference.masks[0][1].id);
  EXPECT_EQ(probability, reference.masks[0][1].probability);
  heed_guesses_free(guesses);
}

}  // namespace
}  // namespace heed::test
