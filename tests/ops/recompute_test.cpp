#include "ops/op_testing.h"

namespace heed::test {
namespace {

struct Block {
  TestParameter inner{"inner", {6, 4}, 2}, inner_bias{"inner_bias", {6}, 3}, outer{"outer", {4, 6}, 4},
      gain{"gain", {4}, 5, 1.0};

  // A pre-norm sublayer, with dropout in two places.
  std::vector<Var> operator()(Pass& pass, const std::vector<Var>& x) const {
    const Var hidden = linear(pass, x[1], {inner, inner_bias}, {Activation::gelu, dropout_at("inner", 0.3F)});
    const Stream s = add_norm(pass, x[0], linear(pass, hidden, {outer, nullptr}), {NormKind::rms, gain, nullptr, 1e-5},
                              dropout_at("branch", 0.3F));
    return {s.residual, s.normed};
  }
  std::vector<TestParameter*> all() { return {&inner, &inner_bias, &outer, &gain}; }
};

// Two uses of the block, each run by `how`; they draw different dropout, since each use of a site draws anew.
template <class How>
Differentiable two_blocks(Block& block, How how) {
  Differentiable function;
  function.inputs = inputs(random_tensor({5, 4}, 1), random_tensor({5, 4}, 6));
  function.parameters = block.all();
  function.run = [&block, how](Pass& pass, const std::vector<Var>& x) {
    return Outcome{how(pass, how(pass, x, block), block)};
  };
  return function;
}

using Vars = std::vector<Var>;

Vars plainly(Pass& pass, const Vars& x, const Block& block) { return block(pass, x); }

Vars with_recomputation(Pass& pass, const Vars& x, const Block& block) {
  return recomputed(pass, x, [&block](Pass& p, const Vars& vars) { return block(p, vars); });
}

Vars nested(Pass& pass, const Vars& x, const Block& block) {
  return recomputed(pass, x, [&block](Pass& p, const Vars& vars) {
    const Vars once = block(p, with_recomputation(p, vars, block));
    return with_recomputation(p, once, block);
  });
}

Vars three_plainly(Pass& pass, const Vars& x, const Block& block) { return block(pass, block(pass, block(pass, x))); }

void expect_same_bits(const Differentiable& a, const Differentiable& b) {
  Differences first(a);
  const auto expected = first.gradients();
  const double objective = first.objective();
  Differences second(b);
  const auto found = second.gradients();
  EXPECT_EQ(second.objective(), objective);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(same_bits(found[i], expected[i])) << "gradient " << i;
  }
}

TEST(Recompute, GivesTheSameBitsAsSavingAllActivations) {
  Block block;
  expect_same_bits(two_blocks(block, plainly), two_blocks(block, with_recomputation));
}

TEST(Recompute, NestedGivesTheSameBitsToo) {
  Block block;
  expect_same_bits(two_blocks(block, three_plainly), two_blocks(block, nested));
}

TEST(Recompute, GradientAgreesWithDifferences) {
  Block block;
  EXPECT_TRUE(gradients_are_right(two_blocks(block, with_recomputation)));
  EXPECT_TRUE(gradients_are_right(two_blocks(block, nested)));
}

TEST(Recompute, TakesLessMemoryBeforeBackward) {
  Block block;
  const auto held = [&](const auto& how) {
    const auto backend = make_reference_backend();
    Tape tape;
    Pass pass = Pass::train(*backend, DType::f64, tape, RandomKey{1});
    Vars x{make_var(*backend, random_tensor({5, 4}, 1).view()), make_var(*backend, random_tensor({5, 4}, 6).view())};
    for (int i = 0; i < 3; ++i) {
      x = how(pass, x, block);
    }
    return backend->arena().bytes_in_use();
  };
  EXPECT_LT(held(with_recomputation), held(plainly));
}

TEST(Recompute, AnUnusedOutputContributesNoGradient) {
  Block block;
  Differentiable kept = two_blocks(block, plainly), replayed = two_blocks(block, with_recomputation);
  for (Differentiable* function : {&kept, &replayed}) {
    function->run = [run = function->run](Pass& pass, const Vars& x) { return Outcome{{run(pass, x).outputs[1]}}; };
  }
  expect_same_bits(kept, replayed);
}

TEST(Recompute, InInferenceJustRunsTheBody) {
  Block block;
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  const Vars x{make_var(*backend, random_tensor({5, 4}, 1).view()),
               make_var(*backend, random_tensor({5, 4}, 6).view())};
  const Vars plain = block(pass, x), again = with_recomputation(pass, x, block);
  EXPECT_TRUE(same_bits(values_of(plain[1].value()), values_of(again[1].value())));
}

TEST(Recompute, ABodyThatReturnsSomethingElseTheSecondTimeIsAnInternalError) {
  const auto backend = make_reference_backend();
  TestParameter weight("weight", {4, 4}, 2);
  Tape tape;
  Pass pass = Pass::train(*backend, DType::f64, tape, RandomKey{1});
  int calls = 0;
  const Vars outputs =
      recomputed(pass, {make_var(*backend, random_tensor({5, 4}, 1).view())}, [&](Pass& p, const Vars& x) {
        const Var y = linear(p, x[0], {weight, nullptr});
        return ++calls == 1 ? Vars{y} : Vars{y, y};
      });
  EXPECT_EQ(outputs.size(), 1U);
  expect_error<InternalError>([&] { tape.backward(*backend); }, {"recompute: ", "1 outputs, then 2"});
}

}  // namespace
}  // namespace heed::test
