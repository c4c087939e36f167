// Texts as a tree over their bytes: which of them does another text begin with?
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed::huggingface {

class ByteTrie {
 public:
  using Node = uint32_t;
  static constexpr Node kRoot = 0, kNowhere = UINT32_MAX;
  static constexpr int32_t kNone = -1;

  using Texts = std::vector<std::pair<std::string_view, int32_t>>;

  ByteTrie() : ByteTrie(Texts()) {}
  // The last of equal texts counts.
  explicit ByteTrie(Texts texts);

  Node next(Node node, char byte) const {
    const auto label = static_cast<unsigned char>(byte);
    if (node == kRoot) {
      return from_root_[label];
    }
    const Entry& entry = nodes_[node];
    for (uint32_t i = 0; i < entry.children; ++i) {
      if (labels_[entry.first + i] == label) {
        return entry.first + i;
      }
    }
    return kNowhere;
  }
  // Where a text leads from the root; kNowhere if nothing begins with it.
  Node walk(std::string_view text) const;
  int32_t value(Node node) const { return nodes_[node].value; }

 private:
  struct Entry {
    Node first = 0;  // child; the others follow
    uint32_t children = 0;
    int32_t value = kNone;
  };

  std::vector<Entry> nodes_;
  std::vector<uint8_t> labels_;  // by which a node is reached
  std::array<Node, 256> from_root_{};
};

}  // namespace heed::huggingface
