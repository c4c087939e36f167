#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

class CudaEmbedding : public CudaTest {
 protected:
  void expect_same_gradients(const EmbeddingCase& c) {
    const auto actual = c.backward(cuda(), types()), expected = c.backward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.d_table, expected.d_table, kF32));
    if (!c.positions.empty()) {
      EXPECT_TRUE(close(actual.d_positions, expected.d_positions, kF32));
    }
    if (!c.token_types.empty()) {
      EXPECT_TRUE(close(actual.d_types, expected.d_types, kF32));
    }
  }
  void expect_same(const EmbeddingCase& c) {
    EXPECT_TRUE(close(c.forward(cuda(), types()), c.forward(reference(), kReferenceTypes), stored()));
    expect_same_gradients(c);
  }
};
HEED_ON_CUDA(CudaEmbedding);

TEST_P(CudaEmbedding, MatchesTheReference) {
  with_each_layout([&] {
    for (const int64_t columns : kPackColumns) {
      for (const float p : {0.0F, 0.25F}) {
        SCOPED_TRACE(fmt::format("{} columns, dropout {}", columns, p));
        EmbeddingCase c = EmbeddingCase::make(types(), 13, 6, columns);
        c.dropout = dropout_of(p);
        c.tokens.set(0, 4, -1.0);
        c.tokens.set(0, 12, -1.0);
        expect_same(c);
      }
    }
    for (const int64_t rows : {1, 4, 5, 31, 32, 33, 100}) {
      SCOPED_TRACE(rows);
      expect_same(EmbeddingCase::make(types(), rows, 50, 33));
    }
  });
}

TEST_P(CudaEmbedding, MatchesTheReferenceWithoutPositionsOrTypes) {
  EmbeddingCase c = EmbeddingCase::make(types(), 13, 6, 33);
  c.positions = {};
  c.position_rows = {};
  expect_same(c);
  c = EmbeddingCase::make(types(), 13, 6, 33);
  c.token_types = {};
  c.type_rows = {};
  expect_same(c);
}

TEST_P(CudaEmbedding, ReadsTablesInEitherType) {
  with_each_layout([&] {
    for (const int64_t columns : kPackColumns) {
      for (const DType type : {DType::f32, DType::bf16}) {
        EmbeddingCase c = EmbeddingCase::make(types(), 13, 6, columns);
        c.table = converted(c.table, type);
        c.token_types = converted(c.token_types, type);
        EXPECT_TRUE(close(c.forward(cuda(), types()), c.forward(reference(), kReferenceTypes), stored())) << columns;
      }
    }
  });
}

TEST_P(CudaEmbedding, APackedTableGivesTheSameBits) {
  for (const int64_t columns : kPackColumns) {
    EmbeddingCase plain = EmbeddingCase::make(types(), 13, 70, columns);
    plain.table = converted(plain.table, storage());
    const auto packed_table = cuda().pack_matrix(plain.table.view());
    EmbeddingCase packed = plain;
    packed.packed = packed_table.get();
    EXPECT_TRUE(same_bits(packed.forward(cuda(), types()), plain.forward(cuda(), types()))) << columns;
  }
}

TEST_P(CudaEmbedding, ARowIsTheSameBitsAloneAndAmongOthers) {
  EmbeddingCase c = EmbeddingCase::make(types(), 44, 40, 65);
  c.dropout = dropout_of(0.25F);
  expect_same_rows(c, 44, [&](const EmbeddingCase& part) { return part.forward(cuda(), types()); });
}

TEST_P(CudaEmbedding, RowsThatNoTokenNamesKeepTheirBits) {
  const EmbeddingCase c = EmbeddingCase::make(types(), 5, 200, 33);
  const Guarded d_table = c.backward(cuda(), types()).d_table;
  std::vector<bool> named(200, false);
  for (int64_t r = 0; r < 5; ++r) {
    named[static_cast<size_t>(c.tokens.get(0, r))] = true;
  }
  for (int64_t token = 0; token < 200; ++token) {
    if (!named[static_cast<size_t>(token)]) {
      EXPECT_TRUE(same_bits(d_table.rows(token, 1), c.table.rows(token, 1)));
    }
  }
}

// Rows are ordered some thousands at a time, and the same token's must be added in the batch's order all the same: where
// one of 1e8 comes first, 1 is lost in f32; where the ones come first, they are not.
TEST_P(CudaEmbedding, AddsTheRowsOfATokenInTheirOrder) {
  constexpr int64_t kRows = 8192 + 70;
  EmbeddingCase c = EmbeddingCase::make(types(), 1, 3, 1);
  c.tokens = Guarded(DType::i32, 1, kRows);
  c.d_y = Guarded(storage(), kRows, 1);
  c.positions = c.position_rows = c.token_types = c.type_rows = {};
  c.scale = 1.0;
  float expected = host<float>(c.table.view())(1, 0);
  for (int64_t r = 0; r < kRows; ++r) {
    const bool counts = r % 5 == 0;
    const double value = r == 4000 ? 1e8 : r == 8200 ? -1e8 : 1.0;
    c.tokens.set(0, r, counts ? 1.0 : 2.0);
    c.d_y.set(r, 0, value);
    expected += counts ? static_cast<float>(c.d_y.get(r, 0)) : 0.0F;
  }
  EXPECT_EQ(c.backward(cuda(), types()).d_table.get(1, 0), static_cast<double>(expected));
}

class CudaSelectRows : public CudaTest {
 protected:
  void expect_same(const SelectRowsCase& c) {
    EXPECT_TRUE(same_bits(c.forward(cuda(), types()), c.forward(reference(), types())));
    for (const Write write : {Write::overwrite, Write::add}) {
      EXPECT_TRUE(close(c.backward(cuda(), types(), write), c.backward(reference(), kReferenceTypes, write), stored()));
    }
  }
};
HEED_ON_CUDA(CudaSelectRows);

TEST_P(CudaSelectRows, MatchesTheReference) {
  with_each_layout([&] {
    for (const int64_t columns : kPackColumns) {
      SCOPED_TRACE(columns);
      expect_same(SelectRowsCase::make(types(), 13, columns));
    }
    for (const int64_t rows : {1, 8, 31, 32, 33, 100}) {
      SCOPED_TRACE(rows);
      expect_same(SelectRowsCase::make(types(), rows, 33));
    }
  });
}

TEST_P(CudaSelectRows, RepeatedRowsAreRoundedOnce) {
  SelectRowsCase c = SelectRowsCase::make(types(), 100, 17);
  c.rows = integers(std::vector<int64_t>(100, 2));
  const Guarded d_x = c.backward(cuda(), types());
  EXPECT_TRUE(close(d_x, c.backward(reference(), kReferenceTypes), stored()));
  EXPECT_EQ(d_x.get(1, 0), 0.0);
}

class CudaPool : public CudaTest {
 protected:
  void expect_same(const PoolCase& c) {
    const auto actual = c.forward(cuda(), types()), expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.y, expected.y, stored()));
    if (c.kind == Pooling::max) {
      EXPECT_TRUE(same_bits(actual.chosen, expected.chosen));
    }
    for (const Write write : {Write::overwrite, Write::add}) {
      EXPECT_TRUE(close(c.backward(cuda(), types(), write), c.backward(reference(), kReferenceTypes, write), stored()));
    }
  }
};
HEED_ON_CUDA(CudaPool);

TEST_P(CudaPool, MatchesTheReference) {
  with_each_layout([&] {
    for (const Pooling kind : {Pooling::mean, Pooling::max, Pooling::mean_sqrt_length}) {
      for (const int64_t columns : kPackColumns) {
        SCOPED_TRACE(fmt::format("{} columns", columns));
        expect_same(PoolCase::make(types(), kind, {3, 1, 0, 0, 7}, columns));
      }
      expect_same(PoolCase::make(types(), kind, {100}, 33));
    }
  });
}

TEST_P(CudaPool, TheFirstOfEqualRowsIsTheMaximum) {
  PoolCase c = PoolCase::make(types(), Pooling::max, {2, 3}, 5);
  for (int64_t r = 0; r < c.x.rows(); ++r) {
    c.x.set(r, 4, -1.0);
  }
  EXPECT_EQ(c.forward(cuda(), types()).chosen.get(1, 4), 2.0);
  expect_same(c);
}

}  // namespace
}  // namespace heed::test
