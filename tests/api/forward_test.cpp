#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "api/random_encoder.h"
#include "heed/encoder.h"
#include "heed/errors.h"
#include "heed/generator.h"
#include "heed/gradients.h"
#include "heed/translator.h"

namespace heed {
namespace {

constexpr ForwardRequest kAll{.attentions = true, .hidden_states = true};
const InferenceOptions kPlain{.precision = Precision::f32, .threads = 1};

// The log-probability of a row's number `chosen` after a softmax.
double log_probability(const NumberArray& logits, int64_t row, int32_t chosen) {
  const float* const first = logits.values.data() + row * logits.shape[1];
  double sum = 0.0;
  for (int64_t i = 0; i < logits.shape[1]; ++i) {
    sum += std::exp(static_cast<double>(first[i]));
  }
  return static_cast<double>(first[chosen]) - std::log(sum);
}

class ForwardTest : public RandomEncoderTest {
 protected:
  void make_writer(Architecture architecture) {
    std::filesystem::create_directories(folder_);
    const auto learn = [](const std::string& line) {
      bool read = false;
      return train_tokenizer({.kind = TokenizerKind::character}, [&](std::string& next) {
        next = line;
        return !std::exchange(read, true);
      });
    };
    Tokenizers tokenizers;
    const bool translates = architecture == Architecture::seq2seq;
    if (translates) {
      tokenizers.push_back(learn("ein Hund läuft"));
    }
    tokenizers.push_back(learn("the dog runs"));
    const ModelConfig config{.architecture = architecture,
                             .model = 16,
                             .inner = 32,
                             .heads = 2,
                             .encoder_layers = translates ? 2 : 0,
                             .decoder_layers = 2,
                             .source_vocabulary = translates ? tokenizers.front()->vocabulary_size() : 0,
                             .target_vocabulary = tokenizers.back()->vocabulary_size(),
                             .max_length = 64};
    save_description({folder_}, config, tokenizers);
    const auto backend = make_cpu_backend(1);
    Weights weights;
    const AnyModel model(Scope(weights), config);
    Trainables trainables(*backend, weights, DType::f32, Trainables::Gradients::none);
    trainables.initialize(*backend, 1);
    backend->scale(trainables.masters(), 2.0);
    save_weights(ModelFolder{folder_}.weights(), trainables, {});
  }

  // Adds to one number of the model's weights.
  void nudge(const std::string& name, size_t element, float by) {
    const auto backend = make_cpu_backend(1);
    const ModelConfig config = load_description({folder_}).config;
    Weights weights;
    const AnyModel model(Scope(weights), config);
    Trainables trainables(*backend, weights, DType::f32, Trainables::Gradients::none);
    load_masters(ModelFolder{folder_}.weights(), *backend, trainables);
    static_cast<float*>(host_address(trainables.find(name).master()))[element] += by;
    save_weights(ModelFolder{folder_}.weights(), trainables, {});
  }

  // The largest gradient of each weight against the difference quotient of the loss.
  void expect_gradients_of(const std::vector<LossExample>& batch) {
    const LossGradients found = loss_gradients(folder_, batch, 1);
    const std::vector<NamedArray> weights = read_weights(folder_);
    ASSERT_EQ(found.gradients.size(), weights.size());
    constexpr float kStep = 1.0F / 4096.0F;
    for (size_t i = 0; i < weights.size(); i += 3) {
      const auto& [name, gradient] = found.gradients[i];
      EXPECT_EQ(name, weights[i].name);
      EXPECT_EQ(gradient.shape, weights[i].numbers.shape);
      const auto largest =
          std::ranges::max_element(gradient.values, [](float a, float b) { return std::abs(a) < std::abs(b); });
      const auto element = static_cast<size_t>(largest - gradient.values.begin());
      nudge(name, element, kStep);
      const double above = loss_gradients(folder_, batch, 1).loss;
      nudge(name, element, -2.0F * kStep);
      const double below = loss_gradients(folder_, batch, 1).loss;
      nudge(name, element, kStep);
      EXPECT_NEAR((above - below) / (2.0 * static_cast<double>(kStep)), static_cast<double>(*largest),
                  1e-3 + 0.02 * std::abs(static_cast<double>(*largest)))
          << name;
    }
  }
};

void expect_rows_sum_to_one(const NumberArray& map) {
  const auto columns = static_cast<size_t>(map.shape.back());
  for (size_t first = 0; first < map.values.size(); first += columns) {
    const auto row = map.values.begin() + static_cast<int64_t>(first);
    EXPECT_NEAR(std::accumulate(row, row + static_cast<int64_t>(columns), 0.0), 1.0, 1e-5);
  }
}

TEST_F(ForwardTest, LogitsOfAPairGiveItsScore) {
  make_writer(Architecture::seq2seq);
  const Translator translator(folder_, kPlain);
  const std::string source = "ein Hund läuft", target = "the dog";
  const PairTokens tokens = translator.tokens(source, target);
  const ForwardResult result = translator.forward(tokens, kAll);
  double sum = log_probability(result.logits, std::ssize(tokens.target) - 1, 3);  // the end
  for (size_t i = 1; i < tokens.target.size(); ++i) {
    sum += log_probability(result.logits, static_cast<int64_t>(i) - 1, tokens.target[i]);
  }
  const std::vector<std::string> sources{source}, targets{target};
  EXPECT_NEAR(sum, translator.score({sources, targets}).front().log_probability, 1e-4);
  ASSERT_EQ(result.encoder.hidden.size(), 3U);
  ASSERT_EQ(result.decoder.hidden.size(), 3U);
  ASSERT_EQ(result.decoder.cross.size(), 2U);
  const auto rows = std::ssize(tokens.target), columns = std::ssize(tokens.source);
  EXPECT_EQ(result.decoder.cross[1].shape, (std::vector<int64_t>{2, rows, columns}));
  for (const AttentionKind kind : {AttentionKind::encoder, AttentionKind::decoder, AttentionKind::cross}) {
    const std::vector<NumberArray>& maps = kind == AttentionKind::encoder   ? result.encoder.attention
                                           : kind == AttentionKind::decoder ? result.decoder.attention
                                                                            : result.decoder.cross;
    const TextAttention shown = translator.attention(source, target, {.kind = kind});
    for (const AttentionMap& map : shown.maps) {
      const std::vector<float>& all = maps[static_cast<size_t>(map.layer)].values;
      const auto first = all.begin() + map.head * map.rows * map.columns;
      EXPECT_TRUE(std::equal(map.weights.begin(), map.weights.end(), first));
    }
    expect_rows_sum_to_one(maps.back());
  }
}

TEST_F(ForwardTest, TheLastHiddenStateOfALanguageModelGivesItsLogits) {
  make_writer(Architecture::causal_lm);
  const Generator generator(folder_, kPlain);
  const std::vector<int32_t> tokens = generator.tokens("the dog runs");
  const ForwardResult result = generator.forward(tokens, kAll);
  ASSERT_EQ(result.decoder.hidden.size(), 3U);
  const NumberArray& hidden = result.decoder.hidden.back();
  const std::vector<NamedArray> weights = read_weights(folder_);
  const auto table = std::ranges::find(weights, "output.weight", &NamedArray::name);
  const auto bias = std::ranges::find(weights, "output.bias", &NamedArray::name);
  ASSERT_TRUE(table != weights.end() && bias != weights.end());
  for (int64_t token = 0; token < result.logits.shape[1]; ++token) {
    auto logit = static_cast<double>(bias->numbers.values[static_cast<size_t>(token)]);
    for (int64_t i = 0; i < 16; ++i) {
      logit += static_cast<double>(hidden.values[static_cast<size_t>(i)]) *
               static_cast<double>(table->numbers.values[static_cast<size_t>(token * 16 + i)]);
    }
    EXPECT_NEAR(logit, static_cast<double>(result.logits.values[static_cast<size_t>(token)]), 1e-3);
  }
  const std::vector<float>& whole = result.logits.values;
  const std::vector<float> prefix = generator.forward(std::span(tokens).first(2)).logits.values;
  for (size_t i = 0; i < prefix.size(); ++i) {
    EXPECT_NEAR(prefix[i], whole[i], 1e-4);
  }
  EXPECT_TRUE(generator.forward(tokens).decoder.hidden.empty());
  EXPECT_TRUE(generator.forward(tokens).decoder.attention.empty());
  // The gradient's loss is the perplexity's.
  EXPECT_NEAR(loss_gradients(folder_, std::vector<LossExample>{{.tokens = tokens}}, 1).loss,
              generator.perplexity("the dog runs").nats_per_token, 1e-4);
}

TEST_F(ForwardTest, AnEncodersEmbeddingIsThatOfItsTexts) {
  make(Head::tokens);
  const Encoder encoder(folder_, kPlain);
  const std::vector<std::string> texts{"hello"};
  const ForwardResult result = encoder.forward(encoder.tokens("hello"), kAll);
  const std::vector<float> expected = encoder.embed(texts).front();
  ASSERT_EQ(result.embedding.values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(result.embedding.values[i], expected[i], 1e-5);
  }
  expect_rows_sum_to_one(result.encoder.attention.front());
}

TEST_F(ForwardTest, GradientsOfATranslatorAreDifferenceQuotients) {
  make_writer(Architecture::seq2seq);
  expect_gradients_of({{.tokens = {7, 8, 3}, .target = {2, 9, 10}}, {.tokens = {12, 3}, .target = {2, 11}}});
}

TEST_F(ForwardTest, GradientsOfALanguageModelAreDifferenceQuotients) {
  make_writer(Architecture::causal_lm);
  expect_gradients_of({{.tokens = {2, 9, 10, 11}}, {.tokens = {2, 7}}});
}

TEST_F(ForwardTest, GradientsOfHeadsAreDifferenceQuotients) {
  make(Head::tokens);
  expect_gradients_of({{.tokens = {2, 9, 3}, .expected = {-1, 8, -1}}});
  make(Head::one_label);
  expect_gradients_of({{.tokens = {2, 9, 3}, .expected = {1}}, {.tokens = {2, 3}, .expected = {0}}});
  make(Head::several_labels);
  expect_gradients_of({{.tokens = {2, 9, 3}, .values = {1.0, 0.0, 1.0}}});
}

TEST_F(ForwardTest, RefusesTokensThatAreNoneAndExamplesThatDoNotFit) {
  make(Head::one_label);
  const Encoder encoder(folder_, kPlain);
  EXPECT_THROW(encoder.forward(std::vector<int32_t>{}), FormatError);
  EXPECT_THROW(encoder.forward(std::vector<int32_t>{2, -1}), FormatError);
  EXPECT_THROW(encoder.forward(std::vector<int32_t>{2, 1000}), FormatError);
  EXPECT_THROW(encoder.forward(std::vector<int32_t>(65, 2)), FormatError);
  const auto refuses = [&](const LossExample& example) {
    EXPECT_THROW(loss_gradients(folder_, std::vector<LossExample>{example}, 1), FormatError);
  };
  refuses({.tokens = {}, .expected = {0}});
  refuses({.tokens = {2, 3}, .expected = {}});
  refuses({.tokens = {2, 3}, .expected = {3}});
  refuses({.tokens = {2, 3}, .expected = {-1}});
  EXPECT_THROW(loss_gradients(folder_, {}, 1), ConfigError);
  make(Head::several_labels);
  refuses({.tokens = {2, 3}, .values = {1.0, 0.0}});
  refuses({.tokens = {2, 3}, .values = {1.0, 0.0, 2.0}});
  make(Head::number);
  refuses({.tokens = {2, 3}, .values = {std::numeric_limits<double>::infinity()}});
  make_writer(Architecture::causal_lm);
  refuses({.tokens = {2}});
  EXPECT_THROW(Encoder(folder_, kPlain).forward(std::vector<int32_t>{2}), ConfigError);
}

}  // namespace
}  // namespace heed
