#include "text/tokenizer_trace.h"

#include <algorithm>
#include <iterator>

#include "base/errors.h"
#include "text/sentencepiece/sentencepiece_model.h"
#include "text/subword_dropout.h"
#include "text/unicode/words.h"

namespace heed {
namespace {

std::vector<std::string> traced_pieces(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::vector<std::string> pieces;
  std::ranges::transform(ids, std::back_inserter(pieces),
                         [&](int32_t id) { return std::string(tokenizer.piece(TokenId(id))); });
  return pieces;
}

void trace_bpe(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, TokenizerTrace& trace) {
  const SubwordMerges found = SubwordDropout(tokenizer).merges_of(ids);
  require<FormatError>((found.merges.empty() ? found.characters : found.merges.back().tokens) == ids, "tokenizer",
                       "SentencePiece does not make its tokens by the merges that its pieces allow");
  trace.start = traced_pieces(tokenizer, found.characters);
  for (const SubwordMerge& merge : found.merges) {
    const auto piece = [&](int32_t id) { return tokenizer.piece(TokenId(id)); };
    trace.steps.push_back({fmt::format("{} + {}", piece(merge.left), piece(merge.right)),
                           std::string(piece(merge.merged)), static_cast<double>(merge.score),
                           traced_pieces(tokenizer, merge.tokens)});
  }
}

void trace_unigram(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, TokenizerTrace& trace) {
  const std::string bytes = tokenizer.serialize();
  const SentencePieceModel model = read_sentencepiece_model(bytes, "tokenizer");
  for (const int32_t id : ids) {
    trace.steps.push_back({"",
                           std::string(tokenizer.piece(TokenId(id))),
                           static_cast<double>(model.pieces.at(static_cast<size_t>(id)).score),
                           {}});
  }
}

constexpr std::string_view kContinued = "##";

bool continues(const std::string& piece) { return piece.size() > kContinued.size() && piece.starts_with(kContinued); }

// A word is a piece and its continuations, or one unknown token. User symbols are outside of words; where there are
// any, tokens cannot be matched to words by counting.
void trace_wordpiece(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, TokenizerTrace& trace) {
  const std::vector<std::string_view> words = split_words(trace.normalized);
  const std::vector<std::string> pieces = traced_pieces(tokenizer, ids);
  const auto begins = std::ranges::count_if(pieces, [](const std::string& piece) { return !continues(piece); });
  const bool aligned = begins == static_cast<int64_t>(words.size());
  std::string rest;
  size_t word = 0;
  for (const std::string& piece : pieces) {
    if (!continues(piece)) {
      rest = aligned ? std::string(words[word++]) : piece;
    }
    trace.steps.push_back({rest, piece, 0.0, {}});
    rest.erase(0, piece.size() - (continues(piece) ? kContinued.size() : 0));
  }
}

}  // namespace

TokenizerTrace trace_of(const Tokenizer& tokenizer, std::string_view text) {
  const TokenizerKind kind = tokenizer.kind();
  require<ConfigError>(
      kind == TokenizerKind::bpe || kind == TokenizerKind::unigram || kind == TokenizerKind::wordpiece, "tokenizer",
      "one of kind {} looks its tokens up, so there are no steps to show: bpe, wordpiece and unigram have them",
      name_of(kind));
  std::vector<int32_t> ids;
  for (const TokenId token : tokenizer.encode(text)) {
    ids.push_back(token.value);
  }
  TokenizerTrace trace{.kind = kind,
                       .normalized = tokenizer.normalize(text),
                       .start = {},
                       .steps = {},
                       .tokens = traced_pieces(tokenizer, ids)};
  switch (kind) {
    case TokenizerKind::bpe:
      trace_bpe(tokenizer, ids, trace);
      break;
    case TokenizerKind::unigram:
      trace_unigram(tokenizer, ids, trace);
      break;
    default:
      trace_wordpiece(tokenizer, ids, trace);
  }
  return trace;
}

}  // namespace heed
