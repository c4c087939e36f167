// Layer and RMS normalization, alone and around residual connections.
#pragma once

#include <optional>

#include "nn/linear.h"
#include "ops/rows/add_norm.h"

namespace heed {

// Where the norms of a sublayer f are:
//   pre:       x + f(norm(x))
//   post:      norm(x + f(x))
//   sandwich:  x + branch_norm(f(norm(x)))
//   branch:    x + branch_norm(f(x))
enum class NormPlacement : uint8_t { pre, post, sandwich, branch };

enum class GainStart : uint8_t { one, zero };

struct NormShape {
  int64_t width = 0;
  NormKind kind = NormKind::layer;
  Bias bias = Bias::present;
  double epsilon = 1e-5;
  NormGain gain = NormGain::plain;  // plus_one: stored gains begin at 0
  GainStart start = GainStart::one;

  // The shape of a norm whose output is added to something, and is zero at first: its gains decide how much of it.
  NormShape from_zero(int64_t own_width) const {
    return {own_width, kind, Bias::none, epsilon, NormGain::plain, GainStart::zero};
  }
};

class Norm {
 public:
  Norm(const Scope& scope, WeightRole role, const NormShape& shape, const Division& division = {});

  Var operator()(Pass& pass, const Var& x) const { return norm(pass, x, weights_); }
  const NormWeights& weights() const { return weights_; }

 private:
  NormWeights weights_;
};

// x + norm(earlier), with the output of an earlier layer, and gains that begin at zero.
class Skip {
 public:
  Skip(const Scope& scope, const NormShape& norm) : norm_(scope, WeightRole::skip_norm, norm.from_zero(norm.width)) {}

  // `next` is the input norm of what follows, or null.
  Stream operator()(Pass& pass, const Var& x, const Var& earlier, const Norm* next) const;

 private:
  Norm norm_;
};

// The residual connection around a sublayer, with its norms and the dropout of its branch. A sum and the norm of that
// sum are one op. In post-norm it is this connection's own norm; else the one through which the next sublayer reads.
class Residual {
 public:
  struct Options {
    NormShape norm;
    NormPlacement placement = NormPlacement::pre;
    Probability dropout{0.0F};
  };

  Residual(const Scope& sublayer, const Options& options);
  // x + f(x), where f reads the same as the sublayer before: the second of two parallel branches.
  static Residual without_norm(const Scope& sublayer, Probability dropout) { return Residual(sublayer, dropout); }

  // The norm of the sublayer's input; null where it reads the residual itself.
  const Norm* input_norm() const { return input_norm_ ? &*input_norm_ : nullptr; }

  // `next` is the input norm of what follows, or null.
  Stream operator()(Pass& pass, const Var& x, const Var& branch, const Norm* next) const;

 private:
  Residual(const Scope& sublayer, Probability dropout) : dropout_{sublayer.site("branch"), dropout} {}

  std::optional<Norm> input_norm_, branch_norm_, output_norm_;
  DropoutSite dropout_;
};

}  // namespace heed
