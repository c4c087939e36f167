#include "bench/train_shapes.h"

#include <algorithm>

#include "base/text/names.h"

namespace heed {

const std::vector<BenchShape>& bench_shapes() {
  using enum Architecture;
  static const std::vector<BenchShape> kAll{
      {"tiny", seq2seq, 128, 256, 4, 4, 8000, 128, 16},
      {"small", seq2seq, 256, 1024, 4, 3, 8000, 128, 16},
      {"base", seq2seq, 512, 2048, 8, 6, 8000, 128, 16},
      {"gpt-char", causal_lm, 384, 1536, 6, 6, 65, 16, 256},
      {"gpt-long", causal_lm, 512, 2048, 8, 6, 8000, 4, 1024},
      {"gpt-124m", causal_lm, 768, 3072, 12, 12, 50304, 8, 1024},
  };
  return kAll;
}

const BenchShape& shape_named(const std::string& name, const std::vector<std::string>& names) {
  require<ConfigError>(std::ranges::count(names, name) > 0, "bench", "there is no shape '{}'{}; the shapes are {}",
                       name, suggest_name(name, {names.begin(), names.end()}), fmt::join(names, ", "));
  return *std::ranges::find(bench_shapes(), name, &BenchShape::name);
}

ModelConfig config_of(const BenchShape& shape) {
  const bool pairs = shape.architecture == Architecture::seq2seq;
  return {
      .architecture = shape.architecture,
      .model = shape.model,
      .inner = shape.inner,
      .heads = shape.heads,
      .encoder_layers = pairs ? shape.layers : 0,
      .decoder_layers = shape.layers,
      .source_vocabulary = pairs ? shape.vocabulary : 0,
      .target_vocabulary = shape.vocabulary,
      .max_length = shape.length,
      .activation = pairs ? Activation::relu : Activation::gelu,
      .positions = pairs ? Positions::sinusoidal : Positions::learned,
      .embedding_scale = pairs ? EmbeddingScale::sqrt_model : EmbeddingScale::none,
  };
}

}  // namespace heed
