#include "text/chat/marked_text.h"

#include "text/huggingface/huggingface_tokenizer.h"
#include "text/lines/multiline.h"

namespace heed {
namespace {

struct Mark {
  size_t begin = std::string_view::npos;
  std::string_view piece;
  TokenId token = kNoToken;
};

// The first mark in the text; of those that begin at one byte, the longest.
Mark first_mark(const Tokenizer& tokenizer, std::string_view text) {
  const SpecialTokens& special = tokenizer.special();
  Mark first;
  for (const TokenId token : {special.bos, special.eos, special.sep, special.pad}) {
    const std::string_view piece = token == kNoToken || token == special.unk ? "" : tokenizer.piece(token);
    const size_t begin = piece.empty() ? std::string_view::npos : text.find(piece);
    const bool longer = begin == first.begin && piece.size() > first.piece.size();
    if (begin != std::string_view::npos && (begin < first.begin || longer)) {
      first = {begin, piece, token};
    }
  }
  return first;
}

}  // namespace

std::vector<TokenId> encode_marked_text(const Tokenizer& tokenizer, std::string_view text) {
  if (const auto* const own = dynamic_cast<const HuggingFaceTokenizer*>(&tokenizer)) {
    return own->encode_text(text, {.frame = huggingface::Frame::bare}).ids;
  }
  std::vector<TokenId> tokens;
  while (!text.empty()) {
    const Mark mark = first_mark(tokenizer, text);
    const std::vector<TokenId> plain = encode_text(tokenizer, text.substr(0, mark.begin));
    tokens.insert(tokens.end(), plain.begin(), plain.end());
    if (mark.token == kNoToken) {
      break;
    }
    tokens.push_back(mark.token);
    text.remove_prefix(mark.begin + mark.piece.size());
  }
  return tokens;
}

}  // namespace heed
