#include "encode/encoder_texts.h"

#include <algorithm>
#include <utility>

#include "encode/text_frames.h"
#include "text/lines/multiline.h"
#include "text/lines/text_pair.h"
#include "text/token_ids.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

size_t tokens_of(std::span<const FrameSlot> frame) {
  return static_cast<size_t>(std::ranges::count(frame, FrameSlot::kToken, &FrameSlot::text));
}

// Takes tokens from the longer text until both fit.
void cut_to(size_t room, TextIds& texts, CutAt cut_at) {
  const size_t all = texts.first.size() + texts.second.size();
  size_t first = texts.first.size(), second = texts.second.size();
  for (size_t left = all; left > room; --left) {
    --(first >= second ? first : second);
  }
  const auto cut = [cut_at](std::vector<int32_t>& ids, size_t kept) {
    const auto more = static_cast<int64_t>(ids.size() - kept);
    const auto from = cut_at == CutAt::beginning ? ids.begin() : ids.end() - more;
    ids.erase(from, from + more);
  };
  cut(texts.first, first);
  cut(texts.second, second);
}

}  // namespace

EncodedText encode_framed(std::span<const FrameSlot> frame, TextIds texts, const ReadingLimit& limit,
                          const std::string& where) {
  const size_t around = tokens_of(frame);
  const auto most = static_cast<size_t>(limit.max_length);
  require<FormatError>(most > around, where, "the model takes {} tokens, of which special tokens alone need {}", most,
                       around);
  const size_t all = texts.first.size() + texts.second.size() + around;
  require<TooLongError>(limit.too_long == TooLong::truncate || all <= most, where,
                        "{} tokens with special tokens, but the model takes at most {}", all, most);
  cut_to(most - around, texts, limit.cut_at);
  EncodedText encoded;
  for (const FrameSlot& slot : frame) {
    if (slot.text == FrameSlot::kToken) {
      encoded.ids.push_back(slot.token.value);
    } else {
      const std::vector<int32_t>& ids = slot.text == 0 ? texts.first : texts.second;
      encoded.ids.insert(encoded.ids.end(), ids.begin(), ids.end());
    }
    encoded.types.resize(encoded.ids.size(), slot.type);
  }
  return encoded;
}

EncodedText encode_text_or_pair(const Tokenizer& tokenizer, const TextOrPair& text, const ReadingLimit& limit,
                                const std::string& where) {
  const std::vector<FrameSlot> frame = encoder_frame(tokenizer, text.second == nullptr ? 1 : 2);
  require_text(text.first, where);
  TextIds ids{ids_of(tokenizer.encode(text.first)), {}};
  if (text.second != nullptr) {
    require_text(*text.second, where);
    ids.second = ids_of(tokenizer.encode(*text.second));
  }
  return encode_framed(frame, std::move(ids), limit, where);
}

EncodedText encode_line(const Tokenizer& tokenizer, const std::string& line, TextColumns columns, int64_t max_length,
                        TooLong too_long, const std::string& where) {
  if (columns == TextColumns::one) {
    return encode_text_or_pair(tokenizer, {line}, {max_length, too_long}, where);
  }
  const TextPair pair = split_pair(line, where);
  return encode_text_or_pair(tokenizer, {pair.first, &pair.second}, {max_length, too_long}, where);
}

EncodedText encode_masked(const Tokenizer& tokenizer, const std::string& text, TokenId mask, int64_t max_length,
                          const std::string& where) {
  require_text(text, where);
  EncodedText encoded = encode_framed(encoder_frame(tokenizer, 1), {ids_of(tokenizer.encode_masked(text, mask)), {}},
                                      {max_length, TooLong::refuse}, where);
  for (size_t row = 0; row < encoded.ids.size(); ++row) {
    if (encoded.ids[row] == mask.value) {
      encoded.masks.push_back(static_cast<int32_t>(row));
    }
  }
  require<FormatError>(!encoded.masks.empty(), where, "has no mask, which is written {}", tokenizer.piece(mask));
  return encoded;
}

EncodedText encode_prompted(const PromptedReading& reading, const TextOrPair& text, const std::string& where) {
  const Tokenizer& tokenizer = reading.tokenizer;
  const auto ids = [&](const std::string& part) {
    require_text(part, where);
    return ids_of(reading.architecture == Architecture::causal_lm ? encode_text(tokenizer, part)
                                                                  : tokenizer.encode(part));
  };
  const bool is_pair = text.second != nullptr;
  require<ConfigError>(!is_pair || reading.architecture == Architecture::encoder, where,
                       "the model reads single texts, not pairs of them");
  const std::vector<FrameSlot> frame =
      is_pair ? encoder_frame(tokenizer, 2) : embedding_frame(reading.architecture, tokenizer, reading.documents);
  TextIds texts{ids(reading.prompt + text.first), is_pair ? ids(*text.second) : std::vector<int32_t>()};
  const size_t given = texts.first.size() + texts.second.size();
  EncodedText encoded = encode_framed(frame, std::move(texts), reading.limit, where);
  require<FormatError>(!encoded.ids.empty(), where, "is empty, and the model has no token to read instead");
  if (reading.pooled == PooledPrompt::no && !reading.prompt.empty()) {
    const auto first_text = std::ranges::find(frame, 0, &FrameSlot::text);
    const auto cut = static_cast<int64_t>(given + tokens_of(frame) - encoded.ids.size());
    const int64_t left = std::ssize(ids(reading.prompt)) - (reading.limit.cut_at == CutAt::beginning ? cut : 0);
    const int64_t prompt = first_text - frame.begin() + std::max<int64_t>(left, 0);
    encoded.unpooled = std::min<int64_t>(prompt, std::ssize(encoded.ids) - 1);
  }
  return encoded;
}

EncodedText encode_words(const Tokenizer& tokenizer, std::span<const std::string> words, int64_t max_length,
                         const std::string& where) {
  require<FormatError>(!words.empty(), where, "has no word to label");
  EncodedText encoded;
  const auto add_words = [&] {
    for (const std::string& word : words) {
      require_text(word, where);
      encoded.first_of_words.push_back(static_cast<int32_t>(encoded.ids.size()));
      const std::vector<int32_t> ids = ids_of(tokenizer.encode(&word == words.data() ? word : " " + word));
      encoded.ids.insert(encoded.ids.end(), ids.begin(), ids.end());
      if (ids.empty()) {
        encoded.ids.push_back(tokenizer.special().unk.value);
      }
    }
  };
  for (const FrameSlot& slot : encoder_frame(tokenizer, 1)) {
    if (slot.text == FrameSlot::kToken) {
      encoded.ids.push_back(slot.token.value);
    } else {
      add_words();
    }
  }
  require<TooLongError>(static_cast<int64_t>(encoded.ids.size()) <= max_length, where,
                        "{} tokens with special tokens, but the model takes at most {}: split the sentence",
                        encoded.ids.size(), max_length);
  encoded.types.resize(encoded.ids.size(), 0);
  return encoded;
}

Sequences sequences_of(std::span<const EncodedText* const> texts, int64_t token_types, uint64_t first_row) {
  std::vector<int32_t> ids, types;
  std::vector<int64_t> lengths;
  for (const EncodedText* text : texts) {
    ids.insert(ids.end(), text->ids.begin(), text->ids.end());
    types.insert(types.end(), text->types.begin(), text->types.end());
    lengths.push_back(static_cast<int64_t>(text->ids.size()));
  }
  Sequences sequences(std::move(ids), Segments(lengths, first_row));
  if (token_types > 0) {
    sequences.set_types(std::move(types));
  }
  return sequences;
}

}  // namespace heed
