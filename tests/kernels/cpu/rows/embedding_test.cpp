#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class CpuEmbedding : public CpuTest {
 protected:
  void expect_same(const EmbeddingCase& c) {
    EXPECT_TRUE(close(c.forward(cpu(), types()), c.forward(reference(), kReferenceTypes), stored()));
    const auto actual = c.backward(cpu(), types()), expected = c.backward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.d_table, expected.d_table, kF32));
    if (!c.positions.empty()) {
      EXPECT_TRUE(close(actual.d_positions, expected.d_positions, kF32));
    }
    if (!c.token_types.empty()) {
      EXPECT_TRUE(close(actual.d_types, expected.d_types, kF32));
    }
  }
};

TEST_P(CpuEmbedding, MatchesTheReference) {
  for (const int64_t columns : kColumns) {
    for (const float p : {0.0F, 0.25F}) {
      SCOPED_TRACE(fmt::format("{} columns, dropout {}", columns, p));
      EmbeddingCase c = EmbeddingCase::make(types(), 13, 6, columns);
      c.dropout = dropout_of(p);
      expect_same(c);
    }
  }
  for (const int64_t rows : kRows) {
    SCOPED_TRACE(rows);
    expect_same(EmbeddingCase::make(types(), rows, 50, 33));
  }
}

TEST_P(CpuEmbedding, MatchesTheReferenceWithoutPositions) {
  EmbeddingCase c = EmbeddingCase::make(types(), 13, 6, 33);
  c.positions = {};
  c.position_rows = {};
  expect_same(c);
}

TEST_P(CpuEmbedding, MatchesTheReferenceWithoutTokenTypes) {
  EmbeddingCase c = EmbeddingCase::make(types(), 13, 6, 33);
  c.token_types = {};
  c.type_rows = {};
  expect_same(c);
}

TEST_P(CpuEmbedding, ARowIsTheSameBitsAloneAndAmongOthers) {
  EmbeddingCase c = EmbeddingCase::make(types(), 300, 40, 65);
  c.dropout = dropout_of(0.25F);
  expect_same_rows(c, 300, [&](const EmbeddingCase& part) { return part.forward(cpu(), types()); });
}

TEST_P(CpuEmbedding, RowsThatNoTokenNamesKeepTheirBits) {
  const EmbeddingCase c = EmbeddingCase::make(types(), 5, 200, 33);
  const Guarded d_table = c.backward(cpu(), types()).d_table;
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

TEST_P(CpuEmbedding, ReadsTablesInTheStorageType) {
  for (const int64_t columns : kColumns) {
    EmbeddingCase c = EmbeddingCase::make(types(), 13, 6, columns);
    c.table = converted(c.table, storage());
    c.positions = converted(c.positions, storage());
    c.token_types = converted(c.token_types, storage());
    EXPECT_TRUE(close(c.forward(cpu(), types()), c.forward(reference(), kReferenceTypes), stored())) << columns;
  }
}

TEST_P(CpuEmbedding, APackedTableGivesTheSameBits) {
  for (const int64_t columns : kColumns) {
    EmbeddingCase plain = EmbeddingCase::make(types(), 100, 70, columns);
    plain.table = converted(plain.table, storage());
    const auto packed_table = cpu().pack_matrix(plain.table.view());
    EmbeddingCase packed = plain;
    packed.packed = packed_table.get();
    EXPECT_TRUE(same_bits(packed.forward(cpu(), types()), plain.forward(cpu(), types()))) << columns;
  }
}

HEED_ON_EVERY_PRODUCT(CpuEmbedding);

}  // namespace
}  // namespace heed::test
