// A vocabulary whose rows ranks divide among them.
#pragma once

#include <span>
#include <vector>

#include "ops/parts.h"

namespace heed {

// Without parts, or with one, the vocabulary is whole.
class DividedVocabulary {
 public:
  DividedVocabulary() = default;
  DividedVocabulary(const Parts* parts, int64_t tokens) : parts_(parts), tokens_(tokens) {}

  bool is_divided() const { return parts_ != nullptr && !parts_->is_whole(); }
  const Parts& parts() const { return *parts_; }
  // Tokens of the whole vocabulary, where this rank's matrix has `own` rows.
  int64_t tokens(int64_t own) const { return is_divided() ? tokens_ : own; }
  // The rows of this rank's matrix that tokens have; -1 for those of other ranks.
  std::vector<int32_t> own_rows(std::span<const int32_t> tokens) const {
    const PartRange own = parts_->share(tokens_);
    std::vector<int32_t> rows;
    rows.reserve(tokens.size());
    for (const int32_t token : tokens) {
      const int64_t row = token - own.first;
      rows.push_back(row >= 0 && row < own.count ? static_cast<int32_t>(row) : -1);
    }
    return rows;
  }

 private:
  const Parts* parts_ = nullptr;
  int64_t tokens_ = 0;
};

}  // namespace heed
