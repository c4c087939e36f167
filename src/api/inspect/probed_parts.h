// What comes out of a model's parts, seen while a tape records them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "heed/inspect.h"
#include "ops/tape.h"

namespace heed {

ProbedPart probed_part(std::string name, const ConstView& values);

// Names each output by the weights that made it, or by the part whose output it was made from.
class PartsObserver : public TapeObserver {
 public:
  // The names of the embeddings, in the order in which they are used: several may share a table.
  explicit PartsObserver(std::vector<std::string> embeddings) : embeddings_(std::move(embeddings)) {}

  void recorded(const Op& op) override;
  std::vector<ProbedPart> take() { return std::move(parts_); }

 private:
  template <class Kind>
  void see(const Kind& op);
  void add(const std::string& name, const Var& output);
  // "decoder.layers.0.attention" if a part of that path made the output; `otherwise` if no known part did.
  std::string sublayer_of(const Var& output, const std::string& otherwise) const;

  std::vector<std::string> embeddings_;
  size_t embedded_ = 0;
  std::vector<ProbedPart> parts_;
  std::vector<std::pair<Var, std::string>> made_;
};

}  // namespace heed
