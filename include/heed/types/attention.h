// What a model attends to while it reads or writes a text.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "heed/types/interruption.h"
#include "heed/types/names.h"
#include "heed/types/sharing.h"

namespace heed {

enum class AttentionKind : uint8_t { encoder, decoder, cross };

inline constexpr std::array<NamedValue<AttentionKind>, 3> kAttentionKindNames{
    {{"encoder", AttentionKind::encoder}, {"decoder", AttentionKind::decoder}, {"cross", AttentionKind::cross}}};

// Whether maps also have the lengths of the weighted values: the weight of a short vector adds little.
enum class AttentionNorms : uint8_t { left_out, computed };

struct AttentionMap;

struct AttentionRequest {
  AttentionKind kind = AttentionKind::encoder;
  std::vector<int64_t> layers = {}, heads = {};  // from 0; empty: all
  AttentionNorms norms = AttentionNorms::left_out;
  // Maps with more rows or columns than this are made smaller: each number is then the largest of several neighbours.
  // 0: they are left as they are.
  int64_t at_most = 0;
  Interruption interruption = {};  // takes effect between two layers
  Sharing sharing = {};
  // Is told of each map as soon as it is there, on any thread, in the order in which all are returned. It should return
  // soon, and must not call the model; what it throws ends the call.
  std::function<void(const AttentionMap& map)> on_map = {};
};

// Row by row: how much each token of the rows attends to each of the columns.
struct AttentionMap {
  int64_t layer = 0, head = 0;  // from 0
  int64_t rows = 0, columns = 0;
  std::vector<float> weights;  // each row sums to 1, unless the map was made smaller
  std::vector<float> norms;    // weight * |v W_O^T| of the head's value v; empty where they were left out
};

struct TextAttention {
  // Tokens as the tokenizer shows them. A row of a decoder is the step that writes it; its own columns begin with what
  // it reads before it writes.
  std::vector<std::string> rows, columns;
  int64_t tokens = 0;              // that the model read
  int64_t layers = 0, heads = 0;   // that it has
  std::vector<AttentionMap> maps;  // layer by layer, head by head
};

}  // namespace heed
