// What another program calls a model's weights, as data: a table from roles to names.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/weights/weights.h"

namespace heed {

// How the other program holds the values of a tensor.
enum class ForeignForm : uint8_t {
  same,
  rotated_pairs,     // columns of a head that are rotated together are neighbours; heed's are half a head apart
  scaled_by_model,   // multiplied by the factor that heed applies after looking a row up
  transposed,        // inputs are rows, outputs are columns
  grouped_by_heads,  // queries, keys and values of the first head, of the second head, ...
  single_row,        // a vector that is a matrix of one row; without the extent of 1 it is read, too
};

// A tensor of the other program: the matrices of some roles, one after the other. Where heed stacks them otherwise, the
// same rows are found there.
struct ForeignTensor {
  // "{layer}" in it is the layer's number, "{term}" the name of the term, and "{prefix}" the format's prefix. With
  // "{head}", the number of a head, there is a tensor for each head's part of a vector.
  std::string_view name;
  std::array<std::optional<WeightRole>, 3> roles;
  std::optional<Sublayer> sublayer = {};
  ForeignForm form = ForeignForm::same;
  std::optional<Stack> stack = {};              // none: of whichever stack
  std::optional<WeightTerm> term = {};          // none: both
  int64_t skipped_rows = 0;                     // that the tensor has before those of the roles
  int64_t zero_rows = 0;                        // of the roles' first rows, which the tensor lacks
  std::array<std::string_view, 3> copies = {};  // names under which the same may stand, too; empty: none
};

struct TermNames {
  std::string_view factor = "weight", bias = "bias";
};

// A format: what its tensors are called, and in which order they are listed: those beside the layers, then layer by
// layer.
struct ForeignNames {
  std::vector<ForeignTensor> tensors;
  TermNames matrices = {}, norms = {};
  int64_t first_layer = 0;  // the number of the first layer
  int64_t head_width = 0;   // of vectors that are stored head by head
  std::string prefix = {};
  std::string text_layer = {};  // what "{text}" in a name stands for
  // Tensors that have no weight's values: parts of names.
  std::vector<std::string_view> without_weight = {};
};

// Some neighbouring rows of a weight.
struct WeightRows {
  const Weight* weight;
  int64_t first, count;
};

// One tensor of the other program, and the rows of weights that it holds, one after the other.
struct NamedTensor {
  std::string name;
  std::vector<WeightRows> rows;
  ForeignForm form;
  int64_t skipped_rows = 0;
  int64_t zero_rows = 0;                 // rows of zeros that the weight has before these
  std::vector<std::string> copies = {};  // names under which the same may stand, too

  int64_t count() const;  // of all rows
  int64_t columns() const { return rows.front().weight->shape().columns(); }
  bool is_vector() const { return rows.front().weight->shape().rank() == 1; }
  bool has(WeightRole role) const { return rows.front().weight->identity().has(role); }
};

// All tensors of a model. Roles that it lacks have none: those of biases, or of an output projection that is an
// embedding table too.
std::vector<NamedTensor> named_tensors(const ForeignNames& names, const Weights& weights);

}  // namespace heed
