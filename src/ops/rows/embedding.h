// y[r] = dropout(scale * table[token r] + position_table[position of r] + type_table[type of r]).
#pragma once

#include <span>

#include "ops/divided_vocabulary.h"
#include "ops/pass.h"
#include "ops/roles.h"
#include "ops/weight.h"

namespace heed {

// Where a row's position vector comes from: nowhere, a fixed table, or a learned one.
struct PositionTable {
  ConstView fixed;                  // master type [max_length, model]
  const Weight* learned = nullptr;  // [max_length, model]

  bool empty() const { return fixed.empty() && learned == nullptr; }
  WeightView table() const { return learned != nullptr ? learned->value() : WeightView{fixed}; }
};

// A learned table of kinds of tokens, and each row's; both empty where a model has none.
struct TypeTable {
  const Weight* learned = nullptr;  // [types, model]
  std::span<const int32_t> types = {};
};

struct EmbeddingOptions {
  double scale = 1.0;
  DropoutSite dropout;
  // Where the table is divided, each row comes whole from the rank that has its token, and all ranks get all rows.
  DividedVocabulary divided = {};
};

// `positions` holds each row's position in its sequence. Tokens and positions are checked against the tables.
Var embedding(Pass& pass, const Tokens& tokens, std::span<const int32_t> positions, uint64_t first_row,
              const Weight& table, const PositionTable& position_table, const EmbeddingOptions& options,
              const TypeTable& type_table = {});

struct EmbeddingOp {
  Var y;
  Tensor tokens, positions;
  const Weight* table;
  const Weight* learned_positions;
  double scale;
  Dropout dropout;
  Tensor types;
  const Weight* learned_types;

  void backward(Backend& backend);
};

}  // namespace heed
