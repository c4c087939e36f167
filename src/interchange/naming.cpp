#include "interchange/naming.h"

#include <algorithm>

namespace heed {
namespace {

constexpr std::string_view kLayerMark = "{layer}", kTermMark = "{term}", kPrefixMark = "{prefix}", kTextMark = "{text}",
                           kHeadMark = "{head}";

std::string replaced(std::string text, std::string_view mark, std::string_view by) {
  const size_t at = text.find(mark);
  return at == std::string::npos ? text : text.replace(at, mark.size(), by);
}

// What one tensor is of.
struct TensorOfTerm {
  const ForeignTensor& tensor;
  std::optional<int64_t> layer;
  WeightTerm term;
  int64_t head = 0;
};

// A tensor's name, or that of a copy.
std::string foreign_name(const ForeignNames& names, const TensorOfTerm& wanted, std::string_view pattern) {
  const TermNames& terms = is_norm(*wanted.tensor.roles.front()) ? names.norms : names.matrices;
  std::string name =
      replaced(std::string(pattern), kTermMark, wanted.term == WeightTerm::factor ? terms.factor : terms.bias);
  name = replaced(std::move(name), kPrefixMark, names.prefix);
  name = replaced(std::move(name), kTextMark, names.text_layer);
  name = replaced(std::move(name), kHeadMark, std::to_string(wanted.head));
  return wanted.layer ? replaced(std::move(name), kLayerMark, std::to_string(names.first_layer + *wanted.layer)) : name;
}

bool is_at(const WeightIdentity& weight, const TensorOfTerm& wanted) {
  return weight.term == wanted.term && weight.place.layer == wanted.layer &&
         weight.place.sublayer == wanted.tensor.sublayer &&
         (!wanted.tensor.stack || weight.place.stack == wanted.tensor.stack);
}

// Rows that follow those listed last become part of them.
void add_rows(std::vector<WeightRows>& rows, const WeightRows& more) {
  const bool follow =
      !rows.empty() && rows.back().weight == more.weight && rows.back().first + rows.back().count == more.first;
  if (follow) {
    rows.back().count += more.count;
  } else {
    rows.push_back(more);
  }
}

std::vector<WeightRows> rows_of(const Weights& weights, const TensorOfTerm& wanted) {
  std::vector<WeightRows> found;
  for (const std::optional<WeightRole> role : wanted.tensor.roles) {
    for (const Weight& weight : weights.all()) {
      int64_t first = 0;
      for (const RoleRows& part : weight.identity().roles) {
        if (part.role == role && is_at(weight.identity(), wanted)) {
          add_rows(found, {&weight, first, part.rows});
        }
        first += part.rows;
      }
    }
  }
  if (wanted.tensor.zero_rows > 0 && !found.empty()) {
    found.front().first += wanted.tensor.zero_rows;
    found.front().count -= wanted.tensor.zero_rows;
  }
  return found;
}

// Each head's rows; all at once where the tensor is not of a head.
std::vector<std::vector<WeightRows>> by_head(const ForeignNames& names, const ForeignTensor& tensor,
                                             std::vector<WeightRows> rows) {
  if (tensor.name.find(kHeadMark) == std::string_view::npos) {
    return {std::move(rows)};
  }
  std::vector<std::vector<WeightRows>> heads;
  for (const WeightRows& part : rows) {
    for (int64_t row = 0; row < part.count; row += names.head_width) {
      heads.push_back({{part.weight, part.first + row, std::min(names.head_width, part.count - row)}});
    }
  }
  return heads;
}

bool is_of_layer(const ForeignTensor& tensor) { return tensor.name.find(kLayerMark) != std::string_view::npos; }

int64_t layers_in(const Weights& weights) {
  int64_t layers = 0;
  for (const Weight& weight : weights.all()) {
    layers = std::max(layers, weight.identity().place.layer.value_or(-1) + 1);
  }
  return layers;
}

}  // namespace

int64_t NamedTensor::count() const {
  int64_t sum = 0;
  for (const WeightRows& part : rows) {
    sum += part.count;
  }
  return sum;
}

std::vector<NamedTensor> named_tensors(const ForeignNames& names, const Weights& weights) {
  std::vector<NamedTensor> found;
  const auto add = [&](const ForeignTensor& tensor, std::optional<int64_t> layer) {
    for (const WeightTerm term : {WeightTerm::factor, WeightTerm::bias}) {
      TensorOfTerm wanted{tensor, layer, term};
      std::vector<WeightRows> all = rows_of(weights, wanted);
      if (all.empty() || tensor.term.value_or(term) != term) {
        continue;
      }
      for (std::vector<WeightRows>& rows : by_head(names, tensor, std::move(all))) {
        NamedTensor& named = found.emplace_back(NamedTensor{.name = foreign_name(names, wanted, tensor.name),
                                                            .rows = std::move(rows),
                                                            .form = tensor.form,
                                                            .skipped_rows = tensor.skipped_rows,
                                                            .zero_rows = tensor.zero_rows});
        ++wanted.head;
        for (const std::string_view copy : tensor.copies) {
          if (!copy.empty()) {
            named.copies.push_back(foreign_name(names, wanted, copy));
          }
        }
      }
    }
  };
  for (const ForeignTensor& tensor : names.tensors) {
    if (!is_of_layer(tensor)) {
      add(tensor, {});
    }
  }
  for (int64_t layer = 0; layer < layers_in(weights); ++layer) {
    for (const ForeignTensor& tensor : names.tensors) {
      if (is_of_layer(tensor)) {
        add(tensor, layer);
      }
    }
  }
  return found;
}

}  // namespace heed
