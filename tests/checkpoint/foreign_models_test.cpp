// Models of other programs compute what these compute: small ones with random weights, made by
// tests/interchange/golden/make.py from the families' published definitions.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/system/files.h"
#include "checkpoint/weights.h"
#include "interchange/foreign_weights.h"
#include "interchange/huggingface/huggingface_model.h"
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

// A golden model, computed in double.
class GoldenModel {
 public:
  explicit GoldenModel(const std::string& name) : found_(read_huggingface_model(golden_folder(name))) {
    load_weights(std::make_shared<const ForeignWeights>(found_.archive, found_.names, found_.config), *backend_,
                 DType::f64, weights_);
  }

  std::vector<std::vector<double>> logits(const std::vector<int32_t>& ids) const {
    Pass pass = Pass::infer(*backend_, DType::f64);
    const Sequences tokens(ids, Segments(std::vector<int64_t>{std::ssize(ids)}));
    const CausalLM& model = model_.causal_lm();
    const Logits found = model.logits(pass, model.hidden(pass, tokens));
    const ConstView view = found.var().value();
    std::vector<std::vector<double>> rows;
    for (int64_t r = 0; r < view.rows(); ++r) {
      const auto row = host<double>(view);
      std::vector<double>& values = rows.emplace_back();
      for (int64_t c = 0; c < view.columns(); ++c) {
        values.push_back(row(r, c));
      }
    }
    return rows;
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
    const auto expected = one.at("logits").get<std::vector<std::vector<double>>>();
    const auto found = model.logits(one.at("ids").get<std::vector<int32_t>>());
    ASSERT_EQ(found.size(), expected.size());
    double worst = 0.0;
    for (size_t r = 0; r < found.size(); ++r) {
      ASSERT_EQ(found[r].size(), expected[r].size());
      for (size_t c = 0; c < found[r].size(); ++c) {
        worst = std::max(worst, std::abs(found[r][c] - expected[r][c]));
      }
    }
    EXPECT_LE(worst, golden.at("tolerance").at("f64").get<double>());
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenDecoders,
                         testing::Values("gemma", "gemma-2", "gemma-3", "gemma-3-v5", "gpt-neox", "gpt-neox-serial",
                                         "gpt2", "gpt2-old", "llama", "llama-biases", "llama-tied", "llama-v5",
                                         "llama-yarn-v5", "mistral", "opt", "phi-3", "qwen2", "qwen2-windows",
                                         "qwen2-yarn", "qwen3", "smollm", "stablelm"));

}  // namespace
}  // namespace heed::test
