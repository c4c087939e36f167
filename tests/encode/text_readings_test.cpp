#include "encode/text_readings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/text_frames.h"
#include "models/random_weights.h"
#include "text/tokenizer_training.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<Tokenizer> letters(std::vector<std::string> symbols) {
  bool read = false;
  return train_tokenizer({.kind = TokenizerKind::character, .user_symbols = std::move(symbols)},
                         [&](std::string& next) {
                           next = "abcdefgh ";
                           return !std::exchange(read, true);
                         });
}

ModelConfig small(Architecture architecture, int64_t vocabulary) {
  ModelConfig config{.architecture = architecture, .model = 8, .inner = 12, .heads = 2, .max_length = 32};
  config.encoder_layers = architecture == Architecture::causal_lm ? 0 : 2;
  config.decoder_layers = architecture == Architecture::encoder ? 0 : 2;
  config.source_vocabulary = architecture == Architecture::causal_lm ? 0 : vocabulary;
  config.target_vocabulary = architecture == Architecture::encoder ? 0 : vocabulary;
  if (architecture != Architecture::encoder) {
    config.head = Head::none;
  }
  return config;
}

// A model with random weights.
class Reader {
 public:
  explicit Reader(const ModelConfig& config) {
    made_.draw(config, DType::f32, 3);
    reader_.emplace(*made_.model, DType::f32, *made_.backend);
  }
  TextReader& operator()() { return *reader_; }

 private:
  test::RandomWeights made_;
  std::optional<TextReader> reader_;
};

EncodedText text_of(std::vector<int32_t> ids) {
  EncodedText text{.ids = std::move(ids), .types = {}, .first_of_words = {}, .masks = {}};
  text.types.resize(text.ids.size(), 0);
  return text;
}

std::vector<float> mean_of(const std::vector<std::vector<float>>& rows, size_t first) {
  std::vector<float> mean(rows.front().size(), 0.0F);
  for (size_t i = first; i < rows.size(); ++i) {
    for (size_t c = 0; c < mean.size(); ++c) {
      mean[c] += rows[i][c] / static_cast<float>(rows.size() - first);
    }
  }
  return mean;
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
  }
}

TEST(Embeddings, OfALanguageModelPoolTheRowsThatItGivesEachPrefixOfTheText) {
  Reader reader(small(Architecture::causal_lm, 12));
  std::vector<std::vector<float>> rows;
  for (const size_t length : {1U, 2U, 3U, 4U}) {
    const std::vector<int32_t> ids{5, 6, 7, 8};
    const EncodedText begin = text_of({ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(length)});
    rows.push_back(embeddings(reader(), {&begin, 1}, Pooling::last).front());
  }
  EncodedText whole = text_of({5, 6, 7, 8});
  expect_near(embeddings(reader(), {&whole, 1}, {}).front(), mean_of(rows, 0));
  whole.unpooled = 2;
  expect_near(embeddings(reader(), {&whole, 1}, Pooling::mean).front(), mean_of(rows, 2));
  expect_near(embeddings(reader(), {&whole, 1}, Pooling::first).front(), rows[0]);
}

TEST(Embeddings, DependOnNoOtherText) {
  for (const Architecture architecture : {Architecture::causal_lm, Architecture::seq2seq, Architecture::encoder}) {
    Reader reader(small(architecture, 12));
    std::vector<EncodedText> texts{text_of({5, 6, 7}), text_of({7}), text_of({8, 9, 5, 5})};
    texts[2].unpooled = 1;
    const auto together = embeddings(reader(), texts, {});
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(embeddings(reader(), {&texts[i], 1}, {}).front(), together[i]);
    }
    EXPECT_NE(together[0], together[1]);
  }
}

// Enough for several batches on each lane, and few long ones that all threads read together.
TEST(Embeddings, AreTheSameHoweverTextsAreDividedAmongLanes) {
  Reader reader(small(Architecture::encoder, 12));
  for (const auto& [count, longest] : {std::pair{300, 32}, std::pair{20, 32}, std::pair{3, 30}, std::pair{0, 1}}) {
    std::vector<EncodedText> texts;
    for (int i = 0; i < count; ++i) {
      std::vector<int32_t> ids;
      for (int k = 0; k <= (i * 7) % longest; ++k) {
        ids.push_back(4 + (i + k) % 8);
      }
      texts.push_back(text_of(std::move(ids)));
    }
    const auto together = embeddings(reader(), texts, {});
    ASSERT_EQ(together.size(), texts.size());
    for (size_t i = 0; i < texts.size(); i += 17) {
      EXPECT_EQ(embeddings(reader(), {&texts[i], 1}, {}).front(), together[i]);
    }
  }
}

MaskGuesses guesses_of(TextReader& reader, const EncodedText& text, const GuessOptions& options) {
  MaskGuesses found;
  read_mask_guesses(reader, {&text, 1}, options, [&](size_t, const MaskGuesses& guesses) { found = guesses; });
  return found;
}

TEST(MaskGuesses, AreTheLikeliestAllowedTokensOfEachMask) {
  ModelConfig config = small(Architecture::encoder, 12);
  config.head = Head::tokens;
  Reader reader(config);
  EncodedText text = text_of({2, 5, 4, 6, 4, 3});
  text.masks = {2, 4};
  const auto all = guesses_of(reader(), text, {.count = 12, .allowed = [](TokenId) { return true; }});
  ASSERT_EQ(all.size(), 2U);
  double sum = 0.0;
  for (size_t i = 0; i < 12; ++i) {
    sum += all[0].at(i).probability;
    EXPECT_TRUE(i == 0 || all[0][i].probability <= all[0][i - 1].probability);
  }
  EXPECT_NEAR(sum, 1.0, 1e-6);
  EXPECT_NE(all[0].front().probability, all[1].front().probability);
  const TokenId best = all[0].front().token;
  const auto fewer = guesses_of(reader(), text, {.count = 2, .allowed = [&](TokenId token) { return token != best; }});
  ASSERT_EQ(fewer[0].size(), 2U);
  EXPECT_EQ(fewer[0][0].token, all[0][1].token);
  EXPECT_EQ(fewer[0][0].probability, all[0][1].probability);
}

TEST(Frames, AreTheTokensThatEachKindOfModelReadsAroundATextToEmbed) {
  const auto tokenizer = letters({});
  const auto tokens_around = [&](Architecture architecture, std::optional<Documents> documents) {
    std::vector<int32_t> tokens;
    for (const FrameSlot& slot : embedding_frame(architecture, *tokenizer, documents)) {
      tokens.push_back(slot.text == FrameSlot::kToken ? slot.token.value : -1);
    }
    return tokens;
  };
  EXPECT_THAT(tokens_around(Architecture::encoder, {}), ElementsAre(2, -1, 3));
  EXPECT_THAT(tokens_around(Architecture::seq2seq, {}), ElementsAre(-1, 3));
  EXPECT_THAT(tokens_around(Architecture::causal_lm, Documents::none), ElementsAre(-1));
  EXPECT_THAT(tokens_around(Architecture::causal_lm, Documents::lines), ElementsAre(2, -1));
}

TEST(PromptedTexts, CanLeaveThePromptAndBosOutOfTheEmbedding) {
  const auto tokenizer = letters({});
  PromptedReading reading{
      .architecture = Architecture::encoder, .tokenizer = *tokenizer, .documents = {}, .limit = {16}, .prompt = "ab "};
  const std::string text = "cd", second = "e";
  EXPECT_EQ(encode_prompted(reading, {text}, "here").unpooled, 0);
  EXPECT_EQ(encode_prompted(reading, {text}, "here").ids.size(), 7U);
  reading.pooled = PooledPrompt::no;
  EXPECT_EQ(encode_prompted(reading, {text}, "here").unpooled, 4);
  EXPECT_EQ(encode_prompted(reading, {text, &second}, "here").types.back(), 1);
  reading.architecture = Architecture::causal_lm;
  reading.documents = Documents::none;
  const std::string empty;
  EXPECT_EQ(encode_prompted(reading, {empty}, "here").unpooled, 2) << "a row is left";
  reading.prompt.clear();
  for (const auto& [first, pair, message] :
       {std::tuple{&empty, static_cast<const std::string*>(nullptr), "here: is empty"},
        std::tuple{&text, &second, "here: the model reads single texts"}}) {
    try {
      (void)encode_prompted(reading, {*first, pair}, "here");
      ADD_FAILURE() << message;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
}

TEST(MaskedTexts, KnowTheRowsOfTheirMasks) {
  const auto tokenizer = letters({"<mask>"});
  const EncodedText text = encode_masked(*tokenizer, "<mask>b <mask>", tokenizer->mask(), 16, "here");
  EXPECT_THAT(text.masks, ElementsAre(1, 4));
  EXPECT_THROW(encode_masked(*tokenizer, "ab", tokenizer->mask(), 16, "here"), FormatError);
  EXPECT_THROW(encode_masked(*tokenizer, "<mask>bcd", tokenizer->mask(), 5, "here"), FormatError);
  EXPECT_EQ(letters({})->mask(), kNoToken);
}

// As in training, where a mask takes the place of a token with the space before it.
TEST(MaskedTexts, OfSubwordTokenizersCountTheSpaceBeforeAMaskToTheMask) {
  bool read = false;
  const auto tokenizer = train_tokenizer({.kind = TokenizerKind::bpe, .vocabulary = 300, .user_symbols = {"<mask>"}},
                                         [&](std::string& next) {
                                           next = "a cab a cab";
                                           return !std::exchange(read, true);
                                         });
  const TokenId mask = tokenizer->mask();
  const std::vector<TokenId> tokens = tokenizer->encode_masked("<mask> cab <mask>", mask);
  EXPECT_EQ(tokens.front(), mask);
  EXPECT_EQ(tokenizer->decode(tokens), tokenizer->decode(tokenizer->encode_masked("<mask> cab<mask>", mask)));
  EXPECT_EQ(tokens, tokenizer->encode_masked("<mask> cab<mask>", mask));
}

}  // namespace
}  // namespace heed
