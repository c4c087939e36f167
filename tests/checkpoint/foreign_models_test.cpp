// Models of other programs compute what these compute: small ones with random weights, made by
// tests/interchange/golden/make.py from the families' published definitions.
#include "golden_model.h"

namespace heed::test {
namespace {

class GoldenDecoders : public testing::TestWithParam<const char*> {};

TEST_P(GoldenDecoders, GivesTheLogitsOfItsDefinition) {
  const std::string name = std::string("decoders/") + GetParam();
  const json golden = golden_of(name);
  for (const Arithmetic arithmetic : kArithmetics) {
    const GoldenModel model(name, arithmetic);
    for (const json& one : golden.at("cases")) {
      expect_close(model.logits(ids_in(one, "ids")), one.at("logits"), tolerance_of(golden, arithmetic));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenDecoders,
                         testing::Values("gemma", "gemma-2", "gemma-3", "gemma-3-v5", "gpt-neox", "gpt-neox-serial",
                                         "gpt2", "gpt2-old", "gpt2-pickled", "llama", "llama-biases", "llama-tied",
                                         "llama-v5", "llama-yarn-v5", "mistral", "opt", "opt-350m", "opt-shards",
                                         "phi-3", "qwen2", "qwen2-windows", "qwen2-yarn", "qwen3", "smollm", "smollm3",
                                         "smollm3-windows", "stablelm", "stablelm-parallel"));

class GoldenGgufFiles : public testing::TestWithParam<const char*> {};

// Also what blocks lose: those of eight bits in f16; those of four keep their integers, but scales in bf16 and inputs in
// eight bits.
TEST_P(GoldenGgufFiles, GiveTheLogitsOfTheirDefinition) {
  const std::string name = std::string("gguf/") + GetParam();
  const json golden = golden_of(name);
  const GoldenModel model(name, Arithmetic::f64, name.ends_with("q8_0") ? BlocksAs::floats : BlocksAs::stored);
  const double tolerance = name.ends_with("q8_0") ? 5e-3 : name.ends_with("q4_0") ? 5e-2 : tolerance_of(golden);
  for (const json& one : golden.at("cases")) {
    expect_close(model.logits(ids_in(one, "ids")), one.at("logits"), tolerance);
  }
}

// The weights are exact. Inputs of products are in eight bits, in the definition too; heed rounds the sums to f32.
TEST(GoldenGgufFile, OfEightBitsGivesItsLogitsFromInputsInEightBits) {
  const json golden = golden_of("gguf/llama-q8_0");
  const GoldenModel model("gguf/llama-q8_0");
  for (const json& one : golden.at("cases")) {
    expect_close(model.logits(ids_in(one, "ids")), one.at("logits_of_inputs_in_eight_bits"), 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenGgufFiles,
                         testing::Values("gemma", "gemma-2", "gemma-3", "gpt2", "llama", "llama-biases", "llama-q4_0",
                                         "llama-q8_0", "llama-tied", "mistral", "qwen2", "qwen2-yarn", "qwen3"));

class GoldenEncoderDecoders : public testing::TestWithParam<const char*> {};

TEST_P(GoldenEncoderDecoders, GivesTheMemoryAndLogitsOfItsDefinition) {
  const std::string name = std::string("encoder_decoders/") + GetParam();
  const json golden = golden_of(name);
  for (const Arithmetic arithmetic : kArithmetics) {
    const GoldenModel model(name, arithmetic);
    for (const json& one : golden.at("cases")) {
      const GoldenModel::Pair found = model.logits(ids_in(one, "source"), ids_in(one, "target"));
      expect_close(found.memory, one.at("memory"), tolerance_of(golden, arithmetic));
      expect_close(found.logits, one.at("logits"), tolerance_of(golden, arithmetic));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenEncoderDecoders,
                         testing::Values("bart", "m2m-100", "marian", "marian-apart", "mbart-25", "mbart-50", "mt5",
                                         "nllb", "t5", "t5-1.1"));

class GoldenEncoders : public testing::TestWithParam<const char*> {};

TEST_P(GoldenEncoders, GivesTheHiddenStatesOfItsDefinition) {
  const std::string name = std::string("encoders/") + GetParam();
  const json golden = golden_of(name);
  for (const Arithmetic arithmetic : kArithmetics) {
    const GoldenModel model(name, arithmetic);
    const double tolerance = tolerance_of(golden, arithmetic);
    for (const json& one : golden.at("cases")) {
      const Sequences tokens =
          model.typed(ids_in(one, "ids"), one.contains("types") ? ids_in(one, "types") : std::vector<int32_t>());
      if (one.contains("embedding")) {
        expect_close(model.embedding(tokens), one.at("embedding"), tolerance);
      }
      if (one.contains("hidden")) {
        expect_close(model.hidden(tokens), one.at("hidden"), tolerance);
      } else {
        const json& logits = one.at("logits");
        expect_close(model.scores(tokens), logits.front().is_array() ? logits : json::array({logits}), tolerance);
      }
    }
  }
}

// A discriminator has one score for each token, heed a label more, whose score is 0.
TEST(GoldenDiscriminator, GivesTheScoreThatATokenWasReplaced) {
  const std::string name = "encoders/electra";
  const json golden = golden_of(name);
  const GoldenModel model(name);
  for (const json& one : golden.at("cases")) {
    json scores = one.at("logits");
    for (json& row : scores) {
      row.insert(row.begin(), 0.0);
    }
    const Sequences tokens = model.typed(ids_in(one, "ids"), ids_in(one, "types"));
    expect_close(model.scores(tokens), scores, tolerance_of(golden));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenEncoders,
                         testing::Values("albert", "albert-masked", "bert", "bert-masked", "bert-old", "bert-sequence",
                                         "bert-token", "distilbert", "distilbert-masked", "distilbert-sequence",
                                         "electra-masked", "electra-sequence", "mpnet", "roberta", "roberta-masked",
                                         "roberta-sequence", "sentence-cls", "sentence-dense", "sentence-max",
                                         "sentence-minilm", "t5-encoder", "xlm-roberta", "xlm-roberta-token"));

}  // namespace
}  // namespace heed::test
