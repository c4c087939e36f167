// A model of any architecture, built from its configuration.
#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "models/causal_lm.h"
#include "models/config.h"
#include "models/encoder_only.h"
#include "models/seq2seq.h"

namespace heed {

// "an encoder-decoder", as messages name what they found and what they need.
std::string_view describe(Architecture architecture);

class AnyModel {
 public:
  // The configuration must be valid. ConfigError when the ranks can't share the model.
  AnyModel(const Scope& scope, const ModelConfig& config);

  const ModelConfig& config() const { return config_; }

  // Calls visitor(const Seq2Seq&), visitor(const CausalLM&) or visitor(const EncoderOnly&).
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return std::visit(std::forward<Visitor>(visitor), model_);
  }

  // The model as one kind, for what only that kind can do. ConfigError when it is another.
  const Seq2Seq& seq2seq() const { return as<Seq2Seq>(Architecture::seq2seq); }
  const CausalLM& causal_lm() const { return as<CausalLM>(Architecture::causal_lm); }
  const EncoderOnly& encoder_only() const { return as<EncoderOnly>(Architecture::encoder); }

 private:
  using Model = std::variant<Seq2Seq, CausalLM, EncoderOnly>;

  static Model make(const Scope& scope, const ModelConfig& config);
  template <class Kind>
  const Kind& as(Architecture wanted) const {
    const Kind* const model = std::get_if<Kind>(&model_);
    require<ConfigError>(model != nullptr, "model", "is {}, where {} is needed", describe(config_.architecture),
                         describe(wanted));
    return *model;
  }

  ModelConfig config_;
  Model model_;
};

// A model with the backend that runs it, ready for inference.
struct Inference {
  const AnyModel& model;
  Backend& backend;
  DType storage;
  std::optional<DType> cached = {};  // keys and values that are kept; otherwise in `storage`
  // Models of the same architecture and vocabularies. Tokens then have the mean of all models' probabilities.
  std::span<const AnyModel* const> others = {};

  DType cache_type() const { return cached.value_or(storage); }
  std::vector<Inference> members() const;  // each model by itself
  int64_t max_length() const;              // that all models take
  Inference on(Backend& lane) const { return {model, lane, storage, cached, others}; }
};

}  // namespace heed
