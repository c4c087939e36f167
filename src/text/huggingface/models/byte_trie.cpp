#include "text/huggingface/models/byte_trie.h"

#include <algorithm>

namespace heed::huggingface {

// Level by level, so that the children of a node lie side by side.
ByteTrie::ByteTrie(Texts texts) {
  struct Range {
    size_t begin, end;  // of texts that begin with what leads to a node
  };
  std::ranges::stable_sort(texts, {}, [](const auto& text) { return text.first; });
  nodes_.emplace_back();
  labels_.push_back(0);
  std::vector<Range> level{{0, texts.size()}};
  size_t first_node = 0;
  for (size_t depth = 0; !level.empty(); ++depth) {
    std::vector<Range> below;
    for (size_t i = 0; i < level.size(); ++i) {
      auto [at, end] = level[i];
      const size_t node = first_node + i;
      for (; at < end && texts[at].first.size() == depth; ++at) {
        nodes_[node].value = texts[at].second;
      }
      nodes_[node].first = static_cast<Node>(nodes_.size());
      while (at < end) {
        const char label = texts[at].first[depth];
        const size_t begin = at;
        while (at < end && texts[at].first[depth] == label) {
          ++at;
        }
        ++nodes_[node].children;
        nodes_.emplace_back();
        labels_.push_back(static_cast<uint8_t>(label));
        below.push_back({begin, at});
      }
    }
    first_node += level.size();
    level = std::move(below);
  }
  from_root_.fill(kNowhere);
  for (uint32_t i = 0; i < nodes_[kRoot].children; ++i) {
    from_root_[labels_[nodes_[kRoot].first + i]] = nodes_[kRoot].first + i;
  }
}

ByteTrie::Node ByteTrie::walk(std::string_view text) const {
  Node node = kRoot;
  for (const char byte : text) {
    node = next(node, byte);
    if (node == kNowhere) {
      break;
    }
  }
  return node;
}

}  // namespace heed::huggingface
