#include <cmath>

#include "models/model_testing.h"

namespace heed::test {
namespace {

TEST(TextLayer, IsAppliedToPooledTextsAlone) {
  const auto backend = make_reference_backend();
  ModelConfig config = small_config(Architecture::encoder);
  config.text_width = 3;
  config.text_activation = Activation::tanh;
  TestModel model(*backend, DType::f64, config);
  const EncoderOnly& encoder = model.model().encoder_only();
  const Sequences texts(TokenLists{{1, 2, 3, 4}, {5, 6}});
  Pass pass = Pass::infer(*backend, DType::f64);
  const Hidden rows = encoder.hidden(pass, texts);
  const View found = encoder.text_embeddings(pass, texts, Pooling::last).var().value();
  const View weight = model.trainables().find("text_layer.weight").master();
  ASSERT_EQ(found.rows(), 2);
  ASSERT_EQ(found.columns(), 3);
  for (int64_t text = 0; text < 2; ++text) {
    for (int64_t out = 0; out < 3; ++out) {
      double sum = 0.0;
      for (int64_t c = 0; c < config.model; ++c) {
        sum += get(weight, out, c) * get(rows.var().value(), text == 0 ? 3 : 5, c);
      }
      EXPECT_NEAR(get(found, text, out), std::tanh(sum), 1e-12) << text << " " << out;
    }
  }
}

TEST(TextLayer, IsNotThereWithoutAWidth) {
  const auto backend = make_reference_backend();
  TestModel model(*backend, DType::f64, small_config(Architecture::encoder));
  const EncoderOnly& encoder = model.model().encoder_only();
  const Sequences texts(TokenLists{{1, 2, 3, 4}});
  Pass pass = Pass::infer(*backend, DType::f64);
  EXPECT_EQ(encoder.text_embeddings(pass, texts, Pooling::first).var().columns(), 8);
  for (const Weight& weight : model.weights().all()) {
    EXPECT_FALSE(weight.identity().has(WeightRole::text_layer)) << weight.name();
  }
}

}  // namespace
}  // namespace heed::test
