// Roles of activations, where a swap would otherwise compile.
#pragma once

#include "base/strong.h"
#include "ops/var.h"
#include "tensor/sequences.h"

namespace heed {

// A Var with a role. Roles do not convert into each other, nor does a plain Var become one silently.
template <class Tag>
class Role {
 public:
  Role() = default;
  explicit Role(Var var) : var_(std::move(var)) {}
  const Var& var() const { return var_; }

 private:
  Var var_;
};

using Hidden = Role<struct HiddenTag>;      // a stack's output
using Logits = Role<struct LogitsTag>;      // scores before the softmax
using LogProbs = Role<struct LogProbsTag>;  // log of the softmax

// The encoder's output, which the decoder attends to, and its sequences.
struct Memory {
  Hidden hidden;
  const Segments* segments = nullptr;
};

}  // namespace heed
