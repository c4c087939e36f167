// What an encoder has between its rows, or pooled rows, and what it predicts.
#pragma once

#include <optional>

#include "models/config.h"

namespace heed {

// norm(act(W x + b)), with or without the norm; or x, where the model has no such layer. Before labels it is BERT's
// pooler; before tokens it is the transformation of a masked language model's head.
class HeadLayer {
 public:
  HeadLayer(const Scope& scope, const ModelConfig& config);

  Hidden operator()(Pass& pass, const Hidden& hidden) const;

 private:
  std::optional<Linear> linear_;
  std::optional<Norm> norm_;
};

// act(W x + b) of a pooled text; or x.
class TextLayer {
 public:
  TextLayer(const Scope& scope, const ModelConfig& config);

  Hidden operator()(Pass& pass, const Hidden& pooled) const;

 private:
  std::optional<Linear> linear_;
};

}  // namespace heed
