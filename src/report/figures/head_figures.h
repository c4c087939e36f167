// What each head of a model attends to, in a few figures.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace heed {

// Means over the rows (queries) of all samples. A share is the weight on one key; those without meaning are NaN.
struct HeadFigures {
  std::string kind;  // "cross", "encoder" or "decoder", as the maps are called
  int64_t layer = 0, head = 0;
  int64_t rows = 0;       // that the means are of
  double entropy = 0.0;   // of a row, in nats
  double distance = 0.0;  // between the positions of query and key, in tokens
  double previous = 0.0;  // on the key before the query's own position
  double diagonal = 0.0;  // on the key at the query's position
  double first = 0.0;     // on the first key
  double end = 0.0;       // on the last; of a decoder's self-attention, which sees no end, NaN

  // The largest share, and what it is on: "previous", "diagonal", "first" or "end".
  double largest_share() const;
  std::string_view mostly_on() const;
};

struct MapShape {
  int64_t heads, queries, keys;
};

// Adds up the maps of samples.
class HeadFiguresSum {
 public:
  // A kind's maps of one sequence, layer by layer: [heads, queries, keys], f32. Layers without a map are left out.
  void add(const std::string& kind, const std::vector<Tensor>& layers, const MapShape& shape);

  // The most specialized first: by the largest share.
  std::vector<HeadFigures> take() const;

 private:
  struct Sum {
    int64_t rows = 0, rows_with_previous = 0, rows_with_diagonal = 0;
    double entropy = 0.0, distance = 0.0, previous = 0.0, diagonal = 0.0, first = 0.0, end = 0.0;
  };
  struct Key {
    std::string kind;
    int64_t layer, head;
    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): mistakes the default's zero
  };
  std::map<Key, Sum> sums_;
};

}  // namespace heed
