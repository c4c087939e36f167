// Another program's model, and what it should compute: golden.json, beside its files.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/system/files.h"
#include "checkpoint/weights.h"
#include "interchange/foreign_source.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "models/any_model.h"
#include "source_root.h"

namespace heed::test {

using nlohmann::json;

inline std::filesystem::path golden_folder(const std::string& name) {
  return source_root() / "tests/interchange/golden" / name;
}

inline json golden_of(const std::string& name) { return json::parse(read_file(golden_folder(name) / "golden.json")); }

using Rows = std::vector<std::vector<double>>;

inline Rows rows_of(const Var& values) {
  const ConstView view = values.value();
  Rows rows(static_cast<size_t>(view.rows()));
  for (int64_t r = 0; r < view.rows(); ++r) {
    for (int64_t c = 0; c < view.columns(); ++c) {
      rows[static_cast<size_t>(r)].push_back(view.type() == DType::f64 ? host<double>(view)(r, c)
                                                                       : static_cast<double>(host<float>(view)(r, c)));
    }
  }
  return rows;
}

inline Sequences sequence(const std::vector<int32_t>& ids) {
  return {ids, Segments(std::vector<int64_t>{std::ssize(ids)})};
}

// The tolerance is relative to the largest expected value.
inline void expect_close(const Rows& found, const json& expected_rows, double tolerance) {
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

// By the definitions of kernels, or by the kernels that users run.
enum class Arithmetic : uint8_t { f64, f32 };
constexpr std::array kArithmetics{Arithmetic::f64, Arithmetic::f32};

inline double tolerance_of(const json& golden, Arithmetic arithmetic = Arithmetic::f64) {
  return golden.at("tolerance").at(arithmetic == Arithmetic::f64 ? "f64" : "f32").get<double>();
}

inline std::vector<int32_t> ids_in(const json& object, const char* key) {
  return object.at(key).get<std::vector<int32_t>>();
}

// A directory, or one file.
inline std::filesystem::path path_of(const std::string& name) {
  const std::filesystem::path folder = golden_folder(name), file = folder / "model.gguf";
  return std::filesystem::exists(file) ? file : folder;
}

class GoldenModel {
 public:
  explicit GoldenModel(const std::string& name, Arithmetic arithmetic = Arithmetic::f64,
                       BlocksAs blocks = BlocksAs::stored)
      : folder_(golden_folder(name)),
        found_(read_foreign_model(path_of(name))),
        type_(arithmetic == Arithmetic::f64 ? DType::f64 : DType::f32),
        backend_(arithmetic == Arithmetic::f64 ? make_reference_backend() : make_cpu_backend(2)) {
    load_weights(open_foreign_weights(found_, blocks), *backend_, type_, weights_);
  }

  Rows logits(const std::vector<int32_t>& ids) const {
    Pass pass = Pass::infer(*backend_, type_);
    const CausalLM& model = model_.causal_lm();
    return rows_of(model.logits(pass, model.hidden(pass, sequence(ids))).var());
  }

  struct Pair {
    Rows memory, logits;
  };
  Pair logits(const std::vector<int32_t>& source, const std::vector<int32_t>& target) const {
    Pass pass = Pass::infer(*backend_, type_);
    const Seq2Seq& model = model_.seq2seq();
    const SourceSequences sources(sequence(source));
    const Memory memory = model.encode(pass, sources, {});
    const Hidden hidden = model.decode(pass, TargetSequences(sequence(target)), memory, {});
    return {rows_of(memory.hidden.var()), rows_of(model.logits(pass, hidden).var())};
  }

  const ForeignModel& found() const { return found_; }
  Inference inference() const { return {model_, *backend_, type_}; }
  // The token that ends what it writes.
  int32_t end() const {
    const json settings = json::parse(read_file(folder_ / "generation_config.json"));
    const json& end = settings.at("eos_token_id");
    return end.is_array() ? end.at(0).get<int32_t>() : end.get<int32_t>();
  }

  Rows hidden(const Sequences& tokens) const {
    Pass pass = Pass::infer(*backend_, type_);
    return rows_of(model_.encoder_only().hidden(pass, tokens).var());
  }
  // Scores of each token, or of the text where the head labels texts.
  Rows scores(const Sequences& tokens) const {
    Pass pass = Pass::infer(*backend_, type_);
    const EncoderOnly& model = model_.encoder_only();
    const bool of_text = found_.config.head != Head::tokens && found_.config.head != Head::token_labels;
    const Hidden rows = of_text ? model.pooled(pass, tokens) : model.hidden(pass, tokens);
    return rows_of(model.logits(pass, rows).var());
  }
  // As heed embed gives it.
  Rows embedding(const Sequences& tokens) const {
    Pass pass = Pass::infer(*backend_, type_);
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
  std::filesystem::path folder_;
  ForeignModel found_;
  DType type_;
  std::unique_ptr<Backend> backend_;
  Weights weights_;
  AnyModel model_{Scope(weights_), found_.config};
};

}  // namespace heed::test
