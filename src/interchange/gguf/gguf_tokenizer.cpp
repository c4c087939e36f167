// llama.cpp's tokenizer "llama" is SentencePiece's byte-pair encoding over characters: of all neighbours that form a
// token together it joins those with the best score, the leftmost of equal ones, and spells what is left over in bytes.
// Unlike SentencePiece, it
//   joins neighbours to whatever token has their text, also to one that is not for text, such as "</s>";
//   puts a space before the text that follows a user symbol, not only at the beginning.
// heed cuts a text line by line, each line with a space before it. By the second difference the line break, as a user
// symbol, does just that.
#include "interchange/gguf/gguf_tokenizer.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "base/errors.h"
#include "text/lines/multiline.h"
#include "text/sentencepiece/sentencepiece_model.h"
#include "text/unicode/normalization.h"

namespace heed {
namespace {

using Piece = SentencePieceModel::Piece;
using PieceType = SentencePieceModel::PieceType;

constexpr ptrdiff_t kBytes = 256;

SentencePieceModel model_of(const Tokenizer& tokenizer, const std::string& where) {
  require<ConfigError>(tokenizer.kind() == TokenizerKind::bpe, where,
                       "its tokenizer is of kind {}, but llama.cpp cuts text as heed does with kind bpe alone",
                       name_of(tokenizer.kind()));
  return read_sentencepiece_model(tokenizer.serialize(), where);
}

// llama.cpp reads text as it comes. NFC is let through: nearly all text is in it.
void require_no_normalization(const Tokenizer& tokenizer, const SentencePieceModel& model, const std::string& where) {
  if (!model.note) {
    const SentencePieceModel::Spaces spaces = model.spaces;
    require<ConfigError>(!model.maps_characters, where, "its tokenizer normalizes text ({}), which llama.cpp does not",
                         tokenizer.normalization());
    require<ConfigError>(!spaces.trimmed, where, "its tokenizer removes extra spaces, which llama.cpp does not");
    require<ConfigError>(spaces.escaped && !spaces.as_suffix, where,
                         "its tokenizer does not mark spaces at the beginning of words, as llama.cpp expects");
    return;
  }
  const Normalization own = parse_normalization(tokenizer.normalization());
  require<ConfigError>(own.form != NormalForm::nfkc && own.letter_case == LetterCase::kept, where,
                       "its tokenizer normalizes text ({}), which llama.cpp does not: train with normalization "
                       "\"none\" or \"nfc\"",
                       tokenizer.normalization());
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }

bool is_one_character(std::string_view text) { return std::ranges::count_if(text, begins_character) == 1; }

// Two texts that llama.cpp could join to `text`.
std::optional<std::string> way_to_join(std::string_view text, const std::unordered_set<std::string_view>& pieces) {
  const auto occurs = [&](std::string_view part) { return is_one_character(part) || pieces.contains(part); };
  for (size_t size = 1; size < text.size(); ++size) {
    const std::string_view left = text.substr(0, size), right = text.substr(size);
    if (begins_character(right.front()) && occurs(left) && occurs(right)) {
      return fmt::format("'{}' and '{}'", left, right);
    }
  }
  return is_one_character(text) ? std::optional(std::string("the character itself")) : std::nullopt;
}

void require_same_merges(const std::vector<Piece>& pieces, const std::string& where) {
  std::unordered_set<std::string_view> texts;
  for (const Piece& piece : pieces) {
    texts.insert(piece.text);
    require<ConfigError>(piece.type != PieceType::user_defined && piece.type != PieceType::unused, where,
                         "its tokenizer has the {} '{}', around which llama.cpp cuts text in another way",
                         piece.type == PieceType::unused ? "unused piece" : "user symbol", piece.text);
  }
  require<ConfigError>(std::ranges::count(pieces, PieceType::byte, &Piece::type) == kBytes, where,
                       "its tokenizer cannot spell unknown characters in bytes, as llama.cpp would");
  for (const Piece& piece : pieces) {
    const std::optional<std::string> way =
        piece.type == PieceType::normal ? std::nullopt : way_to_join(piece.text, texts);
    require<ConfigError>(!way, where, "its tokenizer never makes '{}' of a text, but llama.cpp would build it from {}",
                         piece.text, way.value_or(""));
  }
}

struct TokenLists {
  std::vector<std::string> texts;
  std::vector<float> scores;
  std::vector<int32_t> types;
};

TokenLists lists_of(const Tokenizer& tokenizer, const std::vector<Piece>& pieces) {
  TokenLists lists;
  for (const Piece& piece : pieces) {
    lists.texts.push_back(piece.text);
    lists.scores.push_back(piece.score);
    lists.types.push_back(static_cast<int32_t>(piece.type));  // SentencePiece's numbers
  }
  if (const std::optional<TokenId> line_break = line_break_token(tokenizer)) {
    const auto index = static_cast<size_t>(line_break->value);
    lists.texts[index] = "\n";
    lists.types[index] = static_cast<int32_t>(PieceType::user_defined);
  }
  return lists;
}

}  // namespace

std::vector<GgufEntry> tokenizer_entries(const Tokenizer& tokenizer, Documents documents, const std::string& where) {
  const SentencePieceModel model = model_of(tokenizer, where);
  require_no_normalization(tokenizer, model, where);
  require_same_merges(model.pieces, where);
  const SpecialTokens& special = tokenizer.special();
  require<ConfigError>(special.eos != kNoToken, where, "its tokenizer has no eos, which llama.cpp needs");
  TokenLists lists = lists_of(tokenizer, model.pieces);
  const auto id = [](TokenId token) { return static_cast<uint32_t>(token.value); };
  return {
      {"tokenizer.ggml.model", std::string("llama")},
      {"tokenizer.ggml.pre", std::string("default")},
      {"tokenizer.ggml.tokens", std::move(lists.texts)},
      {"tokenizer.ggml.scores", std::move(lists.scores)},
      {"tokenizer.ggml.token_type", std::move(lists.types)},
      {"tokenizer.ggml.bos_token_id", id(beginning_of_document(tokenizer))},
      {"tokenizer.ggml.eos_token_id", id(special.eos)},
      {"tokenizer.ggml.unknown_token_id", id(special.unk)},
      {"tokenizer.ggml.padding_token_id", id(special.pad)},
      {"tokenizer.ggml.add_bos_token", documents != Documents::none},
      {"tokenizer.ggml.add_eos_token", false},
      {"tokenizer.ggml.add_space_prefix", model.spaces.prefixed},
  };
}

}  // namespace heed
