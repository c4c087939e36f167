// A model whose matrices are divided among ranks, and the two ops at the border between what is whole and what is
// divided.
#pragma once

#include <vector>

#include "ops/pass.h"
#include "ops/var.h"
#include "ops/weight.h"
#include "ranks/ranks.h"

namespace heed {

// Some neighbours of a whole.
struct PartRange {
  int64_t first = 0, count = 0;
};

// Which part of each divided matrix this rank holds, and the ranks that hold the others: part k is that of rank k. All
// of them compute the same batch, call the same operations in the same order, and have the same bits in whatever is not
// divided: activations between sublayers, norms, losses.
class Parts {
 public:
  Parts() = default;  // nothing is divided
  explicit Parts(Ranks ranks) : ranks_(std::move(ranks)) {}

  int64_t count() const { return ranks_.count(); }
  int64_t index() const { return ranks_.rank(); }
  bool is_whole() const { return ranks_.is_alone(); }
  const Ranks& ranks() const { return ranks_; }

  // This rank's, or that of rank `index`. They differ by at most one where the parts do not divide `whole`.
  PartRange share(int64_t whole) const { return share_of(whole, index()); }
  PartRange share_of(int64_t whole, int64_t index) const {
    const int64_t first = whole * index / count();
    return {first, whole * (index + 1) / count() - first};
  }

  // x = the sum of the x of all ranks (+ b), added in their order whatever their number, and rounded once: the same
  // bits on all of them. x is contiguous.
  void sum(Backend& backend, View x, ConstView bias = {}) const;
  // What each rank has, in their order; all of one shape.
  std::vector<Tensor> gather(Backend& backend, ConstView own) const;

 private:
  void sum_whole(Backend& backend, View x, ConstView bias) const;
  void sum_by_rows(Backend& backend, View x, ConstView bias) const;

  Ranks ranks_;
};

// y = x, which parts of matrices multiply on each rank. Where nothing is divided, x itself.
Var to_parts(Pass& pass, const Var& x, const Parts& parts);

// y = the sum of x over the ranks + b, in place: nothing else may have read x. The bias [columns] may be null.
Var sum_of_parts(Pass& pass, const Var& x, const Weight* bias, const Parts& parts);

struct ToPartsOp {
  Var x, y;
  const Parts* parts;

  void backward(Backend& backend);
};

struct SumOfPartsOp {
  Var y;
  const Weight* bias;

  void backward(Backend& backend) const;
};

}  // namespace heed
