// How byte-level tokenizers cut a text before they merge, by the names that tokenizer.ggml.pre has for it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

struct GgufCut {
  std::vector<std::string_view> names;
  std::vector<std::string> expressions;  // one after the other; what one does not match is a piece, too
  bool ignores_merges = false;           // a piece that is a token is that token
  bool begins_with_bos = false;          // where the file does not say it
};

inline constexpr std::string_view kGgufGpt2Expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// FormatError, naming `where` and the names that heed knows, for any other name.
const GgufCut& gguf_cut(std::string_view name, std::string_view where);
// llama.cpp's name for cutting by these expressions; none: it has no name for that.
struct CutSought {
  std::vector<std::string> expressions;
  bool ignores_merges = false;
};
std::optional<std::string_view> gguf_cut_by(const CutSought& sought);

}  // namespace heed
