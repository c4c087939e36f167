#include "nn/linear.h"

#include <algorithm>
#include <iterator>

namespace heed {
namespace {

std::vector<int64_t> stacked_rows(const WeightRoles& roles) {
  std::vector<int64_t> rows;
  if (roles.size() > 1) {
    std::ranges::transform(roles, std::back_inserter(rows), &RoleRows::rows);
  }
  return rows;
}

Division division_of(const Linear::Options& options) {
  switch (options.divided) {
    case Divided::outputs:
      return Division::rows(stacked_rows(options.roles));
    case Divided::inputs:
      return Division::columns();
    case Divided::none:
      break;
  }
  return Division::none();
}

}  // namespace

Linear::Linear(const Scope& scope, const Options& options)
    : summed_over_(options.divided == Divided::inputs && !scope.parts().is_whole() ? &scope.parts() : nullptr),
      op_(options.op) {
  const Division division = division_of(options);
  weights_.weight = &scope.add("weight", options.roles, {options.outputs, options.inputs}, WeightUse::product,
                               options.initialization, division);
  if (options.bias == Bias::present) {
    weights_.bias = &scope.add("bias", {options.roles, WeightTerm::bias}, {options.outputs}, WeightUse::vector,
                               options.initialization.of_bias(options.inputs),
                               options.divided == Divided::outputs ? division : Division::none());
  }
}

// The bias is added once, to the sum.
Var Linear::operator()(Pass& pass, const Var& x) const {
  if (summed_over_ == nullptr) {
    return linear(pass, x, weights_, op_);
  }
  return sum_of_parts(pass, linear(pass, x, {weights_.weight, nullptr}, op_), weights_.bias, *summed_over_);
}

}  // namespace heed
