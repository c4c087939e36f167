#include "backends/backend_test.h"

namespace heed::test {
namespace {

class BackendEmbedding : public BackendTest {
 protected:
  void expect_same(const EmbeddingCase& c) {
    EXPECT_TRUE(close(c.forward(backend(), types()), c.forward(reference(), kReferenceTypes), stored()));
    const auto actual = c.backward(backend(), types()), expected = c.backward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.d_table, expected.d_table, kF32));
    if (!c.positions.empty()) {
      EXPECT_TRUE(close(actual.d_positions, expected.d_positions, kF32));
    }
    if (!c.token_types.empty()) {
      EXPECT_TRUE(close(actual.d_types, expected.d_types, kF32));
    }
  }
};

TEST_P(BackendEmbedding, MatchesTheReference) {
  with_each_layout([&] {
    for (const int64_t columns : sizes(kRowLengths)) {
      for (const float p : {0.0F, 0.25F}) {
        SCOPED_TRACE(fmt::format("{} columns, dropout {}", columns, p));
        EmbeddingCase c = EmbeddingCase::make(types(), 13, 6, columns);
        c.dropout = dropout_of(p);
        expect_same(c);
      }
    }
    for (const int64_t rows : sizes({.cpu = kRows, .cuda = {1, 4, 5, 31, 32, 33, 100}})) {
      SCOPED_TRACE(rows);
      expect_same(EmbeddingCase::make(types(), rows, 50, 33));
    }
  });
}

TEST_P(BackendEmbedding, MatchesTheReferenceWithoutPositions) {
  EmbeddingCase c = EmbeddingCase::make(types(), 13, 6, 33);
  c.positions = {};
  c.position_rows = {};
  expect_same(c);
}

TEST_P(BackendEmbedding, MatchesTheReferenceWithoutTokenTypes) {
  EmbeddingCase c = EmbeddingCase::make(types(), 13, 6, 33);
  c.token_types = {};
  c.type_rows = {};
  expect_same(c);
}

TEST_P(BackendEmbedding, ATokenOfAnotherPartHasZerosAndNoGradient) {
  with_each_layout([&] {
    for (const int64_t columns : sizes(kRowLengths)) {
      SCOPED_TRACE(columns);
      EmbeddingCase c = EmbeddingCase::make(types(), 13, 6, columns);
      c.dropout = dropout_of(0.25F);
      const Guarded whole = c.forward(backend(), types());
      c.tokens.set(0, 4, -1.0);
      c.tokens.set(0, 12, -1.0);
      expect_same(c);
      const Guarded part = c.forward(backend(), types());
      for (int64_t column = 0; column < columns; ++column) {
        EXPECT_EQ(part.get(4, column), 0.0);
      }
      EXPECT_TRUE(same_bits(part.rows(5, 7), whole.rows(5, 7)));
    }
  });
}

TEST_P(BackendEmbedding, ReadsTablesInEitherType) {
  with_each_layout([&] {
    for (const int64_t columns : sizes(kRowLengths)) {
      for (const DType type : here<std::vector<DType>>({DType::f32, storage()}, {DType::f32, DType::bf16})) {
        EmbeddingCase c = EmbeddingCase::make(types(), 13, 6, columns);
        c.table = converted(c.table, type);
        c.positions = converted(c.positions, type);
        c.token_types = converted(c.token_types, type);
        EXPECT_TRUE(close(c.forward(backend(), types()), c.forward(reference(), kReferenceTypes), stored())) << columns;
      }
    }
  });
}

TEST_P(BackendEmbedding, APackedTableGivesTheSameBits) {
  for (const int64_t columns : sizes(kRowLengths)) {
    EmbeddingCase plain = EmbeddingCase::make(types(), here(100, 13), 70, columns);
    plain.table = converted(plain.table, storage());
    const auto packed_table = backend().pack_matrix(plain.table.view());
    EmbeddingCase packed = plain;
    packed.packed = packed_table.get();
    EXPECT_TRUE(same_bits(packed.forward(backend(), types()), plain.forward(backend(), types()))) << columns;
  }
}

TEST_P(BackendEmbedding, ARowIsTheSameBitsAloneAndAmongOthers) {
  const int64_t rows = here(300, 44);
  EmbeddingCase c = EmbeddingCase::make(types(), rows, 40, 65);
  c.dropout = dropout_of(0.25F);
  expect_same_rows(c, rows, [&](const EmbeddingCase& part) { return part.forward(backend(), types()); });
}

TEST_P(BackendEmbedding, RowsThatNoTokenNamesKeepTheirBits) {
  const EmbeddingCase c = EmbeddingCase::make(types(), 5, 200, 33);
  const Guarded d_table = c.backward(backend(), types()).d_table;
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

// GPUs order rows some thousands at a time, and the same token's must be added in the batch's order all the same: where
// one of 1e8 comes first, 1 is lost in f32; where the ones come first, they are not.
TEST_P(BackendEmbedding, AddsTheRowsOfATokenInTheirOrder) {
  constexpr int64_t kMany = 8192 + 70;
  EmbeddingCase c = EmbeddingCase::make(types(), 1, 3, 1);
  c.tokens = Guarded(DType::i32, 1, kMany);
  c.d_y = Guarded(storage(), kMany, 1);
  c.positions = c.position_rows = c.token_types = c.type_rows = {};
  c.scale = 1.0;
  float expected = host<float>(c.table.view())(1, 0);
  for (int64_t r = 0; r < kMany; ++r) {
    const bool counts = r % 5 == 0;
    const double value = r == 4000 ? 1e8 : r == 8200 ? -1e8 : 1.0;
    c.tokens.set(0, r, counts ? 1.0 : 2.0);
    c.d_y.set(r, 0, value);
    expected += counts ? static_cast<float>(c.d_y.get(r, 0)) : 0.0F;
  }
  EXPECT_EQ(c.backward(backend(), types()).d_table.get(1, 0), static_cast<double>(expected));
}

HEED_IN_EACH_SETTING(BackendEmbedding, products);

}  // namespace
}  // namespace heed::test
