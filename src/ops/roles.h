// Roles of activations and indices, where a swap would otherwise compile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/strong.h"
#include "ops/var.h"
#include "tensor/segments.h"

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

// Input token ids, one per row.
class Tokens {
 public:
  Tokens() = default;
  explicit Tokens(std::vector<int32_t> ids) : ids_(std::move(ids)) {}
  std::span<const int32_t> ids() const { return ids_; }
  int64_t size() const { return static_cast<int64_t>(ids_.size()); }

 private:
  std::vector<int32_t> ids_;
};

// Target token ids, one per row; kIgnored rows have no loss and no gradient.
class Targets {
 public:
  static constexpr int32_t kIgnored = -1;

  Targets() = default;
  explicit Targets(std::vector<int32_t> ids) : ids_(std::move(ids)) {}
  std::span<const int32_t> ids() const { return ids_; }
  int64_t size() const { return static_cast<int64_t>(ids_.size()); }
  int64_t counted() const;  // rows that are not ignored

 private:
  std::vector<int32_t> ids_;
};

}  // namespace heed
