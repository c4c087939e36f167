// Models of other programs compute what these compute: small ones with random weights, made by
// tests/interchange/golden/make.py from the families' published definitions.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/system/files.h"
#include "checkpoint/weights.h"
#include "interchange/foreign_source.h"
#include "kernels/reference/reference_backend.h"
#include "models/any_model.h"
#include "source_root.h"

namespace heed::test {
namespace {

using nlohmann::json;

std::filesystem::path golden_folder(const std::string& name) {
  return source_root() / "tests/interchange/golden" / name;
}

json golden_of(const std::string& name) { return json::parse(read_file(golden_folder(name) / "golden.json")); }

using Rows = std::vector<std::vector<double>>;

Rows rows_of(const Var& values) {
  const ConstView view = values.value();
  const auto all = host<double>(view);
  Rows rows(static_cast<size_t>(view.rows()));
  for (int64_t r = 0; r < view.rows(); ++r) {
    for (int64_t c = 0; c < view.columns(); ++c) {
      rows[static_cast<size_t>(r)].push_back(all(r, c));
    }
  }
  return rows;
}

Sequences sequence(const std::vector<int32_t>& ids) { return {ids, Segments(std::vector<int64_t>{std::ssize(ids)})}; }

// Of the largest expected value, as the golden models' tolerance is meant.
void expect_close(const Rows& found, const json& expected_rows, double tolerance) {
  const auto expected = expected_rows.get<Rows>();
  ASSERT_EQ(found.size(), expected.size());
  double worst = 0.0, largest = 0.0;
  for (size_t r = 0; r < found.size(); ++r) {
    ASSERT_EQ(found[r].size(), expected[r].size());
    for (size_t c = 0; c < found[r].size(); ++c) {
      worst = std::max(worst, std::abs(found[r][c] - expected[r][c]));
      largest = std::max(largest, std::abs(expected[r][c]));
    }
  }
  EXPECT_LE(worst, tolerance * largest);
}

double tolerance_of(const json& golden) { return golden.at("tolerance").at("f64").get<double>(); }

std::vector<int32_t> ids_in(const json& object, const char* key) { return object.at(key).get<std::vector<int32_t>>(); }

// A directory, or one file.
std::filesystem::path path_of(const std::string& name) {
  const std::filesystem::path folder = golden_folder(name), file = folder / "model.gguf";
  return std::filesystem::exists(file) ? file : folder;
}

// A golden model, computed in double.
class GoldenModel {
 public:
  explicit GoldenModel(const std::string& name) : found_(read_foreign_model(path_of(name))) {
    load_weights(open_foreign_weights(found_), *backend_, DType::f64, weights_);
  }

  Rows logits(const std::vector<int32_t>& ids) const {
    Pass pass = Pass::infer(*backend_, DType::f64);
    const CausalLM& model = model_.causal_lm();
    return rows_of(model.logits(pass, model.hidden(pass, sequence(ids))).var());
  }

  struct Pair {
    Rows memory, logits;
  };
  Pair logits(const std::vector<int32_t>& source, const std::vector<int32_t>& target) const {
    Pass pass = Pass::infer(*backend_, DType::f64);
    const Seq2Seq& model = model_.seq2seq();
    const SourceSequences sources(sequence(source));
    const Memory memory = model.encode(pass, sources, {});
    const Hidden hidden = model.decode(pass, TargetSequences(sequence(target)), memory, {});
    return {rows_of(memory.hidden.var()), rows_of(model.logits(pass, hidden).var())};
  }

  Rows hidden(const Sequences& tokens) const {
    Pass pass = Pass::infer(*backend_, DType::f64);
    return rows_of(model_.encoder_only().hidden(pass, tokens).var());
  }
  // Of each token, or of the text where its labels are asked for.
  Rows scores(const Sequences& tokens) const {
    Pass pass = Pass::infer(*backend_, DType::f64);
    const EncoderOnly& model = model_.encoder_only();
    const bool of_text = found_.config.head != Head::tokens && found_.config.head != Head::token_labels;
    const Hidden rows = of_text ? model.pooled(pass, tokens) : model.hidden(pass, tokens);
    return rows_of(model.logits(pass, rows).var());
  }
  // As heed embed gives it.
  Rows embedding(const Sequences& tokens) const {
    Pass pass = Pass::infer(*backend_, DType::f64);
    Rows rows = rows_of(model_.encoder_only().text_embeddings(pass, tokens, found_.config.text_pooling).var());
    if (found_.config.text_normalized == Normalized::yes) {
      std::vector<double>& values = rows.front();
      const double length = std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
      std::ranges::for_each(values, [&](double& x) { x /= length; });
    }
    return rows;
  }
  // A text whose tokens have these types, where the model has any.
  Sequences typed(const std::vector<int32_t>& ids, std::vector<int32_t> types) const {
    Sequences tokens = sequence(ids);
    if (found_.config.token_types > 0) {
      types.resize(ids.size(), 0);
      tokens.set_types(std::move(types));
    }
    return tokens;
  }

 private:
  ForeignModel found_;
  std::unique_ptr<Backend> backend_ = make_reference_backend();
  Weights weights_;
  AnyModel model_{Scope(weights_), found_.config};
};

class GoldenDecoders : public testing::TestWithParam<const char*> {};

TEST_P(GoldenDecoders, GivesTheLogitsOfItsDefinition) {
  const std::string name = std::string("decoders/") + GetParam();
  const json golden = golden_of(name);
  const GoldenModel model(name);
  for (const json& one : golden.at("cases")) {
    expect_close(model.logits(ids_in(one, "ids")), one.at("logits"), tolerance_of(golden));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenDecoders,
                         testing::Values("gemma", "gemma-2", "gemma-3", "gemma-3-v5", "gpt-neox", "gpt-neox-serial",
                                         "gpt2", "gpt2-old", "gpt2-pickled", "llama", "llama-biases", "llama-tied",
                                         "llama-v5", "llama-yarn-v5", "mistral", "opt", "opt-shards", "phi-3", "qwen2",
                                         "qwen2-windows", "qwen2-yarn", "qwen3", "smollm", "stablelm"));

class GoldenGgufFiles : public testing::TestWithParam<const char*> {};

// Also what blocks lose: those of eight bits become f16; those of four keep their integers, but scales in bf16 and
// inputs in eight bits.
TEST_P(GoldenGgufFiles, GiveTheLogitsOfTheirDefinition) {
  const std::string name = std::string("gguf/") + GetParam();
  const json golden = golden_of(name);
  const GoldenModel model(name);
  const double tolerance = name.ends_with("q8_0") ? 5e-3 : name.ends_with("q4_0") ? 5e-2 : tolerance_of(golden);
  for (const json& one : golden.at("cases")) {
    expect_close(model.logits(ids_in(one, "ids")), one.at("logits"), tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenGgufFiles,
                         testing::Values("gemma", "gemma-2", "gemma-3", "gpt2", "llama", "llama-biases", "llama-q4_0",
                                         "llama-q8_0", "llama-tied", "mistral", "qwen2", "qwen2-yarn", "qwen3"));

class GoldenEncoderDecoders : public testing::TestWithParam<const char*> {};

TEST_P(GoldenEncoderDecoders, GivesTheMemoryAndLogitsOfItsDefinition) {
  const std::string name = std::string("encoder_decoders/") + GetParam();
  const json golden = golden_of(name);
  const GoldenModel model(name);
  for (const json& one : golden.at("cases")) {
    const GoldenModel::Pair found = model.logits(ids_in(one, "source"), ids_in(one, "target"));
    expect_close(found.memory, one.at("memory"), tolerance_of(golden));
    expect_close(found.logits, one.at("logits"), tolerance_of(golden));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenEncoderDecoders,
                         testing::Values("bart", "m2m-100", "marian", "marian-apart", "mbart-25", "mbart-50", "mt5",
                                         "nllb", "t5", "t5-1.1"));

class GoldenEncoders : public testing::TestWithParam<const char*> {};

TEST_P(GoldenEncoders, GivesTheHiddenStatesOfItsDefinition) {
  const std::string name = std::string("encoders/") + GetParam();
  const json golden = golden_of(name);
  const GoldenModel model(name);
  for (const json& one : golden.at("cases")) {
    const Sequences tokens =
        model.typed(ids_in(one, "ids"), one.contains("types") ? ids_in(one, "types") : std::vector<int32_t>());
    if (one.contains("embedding")) {
      expect_close(model.embedding(tokens), one.at("embedding"), tolerance_of(golden));
    }
    if (one.contains("hidden")) {
      expect_close(model.hidden(tokens), one.at("hidden"), tolerance_of(golden));
    } else {
      const json& logits = one.at("logits");
      expect_close(model.scores(tokens), logits.front().is_array() ? logits : json::array({logits}),
                   tolerance_of(golden));
    }
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
