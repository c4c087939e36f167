// The ops between what is whole and what ranks divide, on ranks that are threads.
#include "ops/parts.h"

#include <array>

#include "kernels/cpu/cpu_backend.h"
#include "ops/op_testing.h"
#include "ranks/thread_transport.h"

namespace heed::test {
namespace {

class PartsOfRanks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, PartsOfRanks, testing::Values(1, 2, 3, 5));

// A rank's own values, from 1.
Tensor own_values(Shape shape, int rank) { return random_tensor(shape, 10 + static_cast<uint64_t>(rank)); }

Tensor sum_of_ranks(Shape shape, int ranks) {
  Tensor sum(shape, DType::f64);
  for (int rank = 0; rank < ranks; ++rank) {
    const Tensor own = own_values(shape, rank);
    for (int64_t i = 0; i < sum.elements(); ++i) {
      sum.data<double>()[i] += own.data<double>()[i];
    }
  }
  return sum;
}

// Few rows are added by each rank, many by the rank that they belong to.
TEST_P(PartsOfRanks, ASumHasTheSameBitsOnAllInTheOrderOfTheRanks) {
  for (const int64_t rows : {2, 7, 400}) {
    const Shape shape{rows, 64};
    const std::vector<double> expected = values_of(sum_of_ranks(shape, GetParam()).view());
    run_thread_ranks(GetParam(), [&](Transport& transport) {
      const auto backend = make_reference_backend();
      const Parts parts{Ranks(transport)};
      const Tensor x = own_values(shape, transport.rank());
      parts.sum(*backend, x.view());
      EXPECT_TRUE(same_bits(values_of(x.view()), expected));
    });
  }
}

TEST_P(PartsOfRanks, ASumAddsTheBiasOnceAndPassesItsGradientOn) {
  const Shape shape{6, 5};
  const Tensor sum = sum_of_ranks(shape, GetParam());
  run_thread_ranks(GetParam(), [&](Transport& transport) {
    const auto backend = make_reference_backend();
    const Parts parts{Ranks(transport)};
    TestParameter bias("bias", {5}, 3);
    Tape tape;
    Pass pass = Pass::train(*backend, DType::f64, tape, RandomKey{1});
    const Var x = make_var(*backend, own_values(shape, transport.rank()).view());
    Var y = sum_of_parts(pass, x, bias.get(), parts);
    const Tensor upstream = random_tensor(shape, 99);
    Tensor d_y({6, 5}, DType::f64, backend->arena());
    backend->copy(upstream.view(), d_y.view());
    y.set_gradient(std::move(d_y));
    tape.backward(*backend);
    for (int64_t c = 0; c < 5; ++c) {
      double d_bias = 0.0;
      for (int64_t r = 0; r < 6; ++r) {
        EXPECT_DOUBLE_EQ(get(y.value(), r, c), get(sum.view(), r, c) + get(bias.master(), 0, c));
        EXPECT_EQ(get(x.gradient(), r, c), get(upstream.view(), r, c));
        d_bias += get(upstream.view(), r, c);
      }
      EXPECT_DOUBLE_EQ(get(bias.gradient(), 0, c), d_bias);
    }
  });
}

TEST_P(PartsOfRanks, TheGradientOfWhatPartsReadIsTheSumOverThemPlusOthers) {
  const Shape shape{6, 5};
  const Tensor sum = sum_of_ranks(shape, GetParam());
  run_thread_ranks(GetParam(), [&](Transport& transport) {
    const auto backend = make_reference_backend();
    const Parts parts{Ranks(transport)};
    const auto gradient_of = [&](const Tensor& values) {
      Tensor gradient({6, 5}, DType::f64, backend->arena());
      backend->copy(values.view(), gradient.view());
      return gradient;
    };
    Tape tape;
    Pass pass = Pass::train(*backend, DType::f64, tape, RandomKey{1});
    Var x = make_var(*backend, random_tensor(shape, 98).view());
    Var y = to_parts(pass, x, parts);
    EXPECT_EQ(y.same_as(x), GetParam() == 1);
    EXPECT_EQ(host_address(y.value()), host_address(x.value()));
    if (GetParam() == 1) {
      return;
    }
    const Tensor of_others = random_tensor(shape, 97);
    x.set_gradient(gradient_of(of_others));
    y.set_gradient(gradient_of(own_values(shape, transport.rank())));
    tape.backward(*backend);
    for (int64_t r = 0; r < 6; ++r) {
      for (int64_t c = 0; c < 5; ++c) {
        EXPECT_DOUBLE_EQ(get(x.gradient(), r, c), get(of_others.view(), r, c) + get(sum.view(), r, c));
      }
    }
  });
}

TEST_P(PartsOfRanks, AnEmbeddingHasTheBitsOfAWholeTable) {
  const std::vector<int32_t> tokens{0, 6, 3, 3, 1, 5}, positions{0, 1, 2, 0, 1, 2};
  const auto backend = make_cpu_backend(1);
  const Tensor table = random_tensor({7, 20}, 1, 1.0, DType::f32), learned = random_tensor({4, 20}, 2, 1.0, DType::f32);
  const auto embedded = [&](Backend& own_backend, const DividedVocabulary& divided, PartRange own) {
    Weight weight("tokens", {own.count, 20}, WeightUse::table), position_weight("positions", {4, 20}, WeightUse::table);
    weight.borrow(table.view().row_range(own.first, own.count), nullptr);
    position_weight.borrow(learned.view(), nullptr);
    Tape tape;
    Pass pass = Pass::train(own_backend, DType::bf16, tape, RandomKey{4});
    const EmbeddingOptions options{3.0, dropout_at("embedding", 0.3F), divided};
    return values_of(
        embedding(pass, Tokens(tokens), positions, 7, weight, {View(), &position_weight}, options).value());
  };
  const std::vector<double> whole = embedded(*backend, {}, {0, 7});
  run_thread_ranks(GetParam(), [&](Transport& transport) {
    const auto own_backend = make_cpu_backend(1);
    const Parts parts{Ranks(transport)};
    EXPECT_EQ(embedded(*own_backend, {&parts, 7}, parts.share(7)), whole);
    EXPECT_THROW(embedded(*own_backend, {&parts, 5}, parts.share(5)), Error);
  });
}

TEST(PartsOfOne, SharesDifferByOneAtMost) {
  run_thread_ranks(3, [&](Transport& transport) {
    const Parts parts{Ranks(transport)};
    int64_t next = 0;
    for (int64_t index = 0; index < 3; ++index) {
      const PartRange range = parts.share_of(11, index);
      EXPECT_EQ(range.first, next);
      EXPECT_TRUE(range.count == 3 || range.count == 4);
      next += range.count;
    }
    EXPECT_EQ(next, 11);
    EXPECT_EQ(parts.share(11).first, parts.share_of(11, transport.rank()).first);
  });
}

}  // namespace
}  // namespace heed::test
