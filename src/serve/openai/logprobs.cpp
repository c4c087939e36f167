#include "serve/openai/logprobs.h"

#include <algorithm>

#include "text/unicode/unicode.h"

namespace heed::serve::openai {
namespace {

std::span<const ScoredToken> tokens_in(std::span<const ScoredToken> tokens, std::string_view text) {
  const auto behind =
      std::ranges::find_if(tokens, [&](const ScoredToken& token) { return token.text_offset >= std::ssize(text); });
  return tokens.first(static_cast<size_t>(behind - tokens.begin()));
}

// Where a token's text depends on its neighbours, as the tokenizer shows it, with spaces for SentencePiece's marks.
std::string spelled(const std::string& piece) {
  constexpr std::string_view kSpace = "\xe2\x96\x81";
  std::string text = piece;
  for (size_t at = text.find(kSpace); at != std::string::npos; at = text.find(kSpace, at + 1)) {
    text.replace(at, kSpace.size(), " ");
  }
  return text;
}

bool is_mark(const LikelyToken& token) { return token.bytes && token.bytes->empty(); }

std::string bytes_of_token(const LikelyToken& token) { return token.bytes ? *token.bytes : spelled(token.piece); }

// A part of a character is shown by its bytes: "\xc3".
std::string shown_token(const LikelyToken& token) {
  if (is_mark(token)) {
    return token.piece;
  }
  std::string bytes = bytes_of_token(token);
  if (!find_invalid_utf8(bytes)) {
    return bytes;
  }
  std::string shown;
  for (const char byte : bytes) {
    shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return shown;
}

Json chat_token(const LikelyToken& token) {
  Json bytes;
  if (!is_mark(token)) {
    bytes = Json::array();
    for (const char byte : bytes_of_token(token)) {
      bytes.push_back(static_cast<unsigned char>(byte));
    }
  }
  return {{"token", shown_token(token)}, {"logprob", token.log_probability}, {"bytes", std::move(bytes)}};
}

}  // namespace

int64_t characters_of(std::string_view text) {
  return std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U; });
}

Json chat_logprobs(std::span<const ScoredToken> tokens, std::string_view text) {
  Json content = Json::array();
  for (const ScoredToken& token : tokens_in(tokens, text)) {
    Json one = chat_token(token);
    one["top_logprobs"] = Json::array();
    for (const LikelyToken& likely : token.likeliest) {
      one["top_logprobs"].push_back(chat_token(likely));
    }
    content.push_back(std::move(one));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

Json completion_logprobs(std::span<const ScoredToken> tokens, std::string_view text, int64_t before) {
  return all_logprobs(tokens_in(tokens, text), text, before);
}

Json all_logprobs(std::span<const ScoredToken> tokens, std::string_view text, int64_t before) {
  Json shown = Json::array(), probabilities = Json::array(), likeliest = Json::array(), offsets = Json::array();
  for (const ScoredToken& token : tokens) {
    Json top = Json::object();
    for (const LikelyToken& likely : token.likeliest) {
      top.emplace(shown_token(likely), likely.log_probability);  // the likelier of two that look alike
    }
    top[shown_token(token)] = token.log_probability;
    shown.push_back(shown_token(token));
    probabilities.push_back(token.log_probability);
    likeliest.push_back(std::move(top));
    offsets.push_back(before + characters_of(text.substr(0, static_cast<size_t>(token.text_offset))));
  }
  return {{"tokens", std::move(shown)},
          {"token_logprobs", std::move(probabilities)},
          {"top_logprobs", std::move(likeliest)},
          {"text_offset", std::move(offsets)}};
}

Json prompt_logprobs(std::span<const ScoredToken> tokens, std::string_view prompt) {
  Json logprobs = all_logprobs(tokens, prompt, 0);
  for (const char* const name : {"token_logprobs", "top_logprobs"}) {
    if (!tokens.empty()) {
      logprobs[name][0] = nullptr;
    }
  }
  return logprobs;
}

void append_logprobs(Json& logprobs, Json more) {
  for (const auto& [name, values] : more.items()) {
    for (Json& value : values) {
      logprobs[name].push_back(std::move(value));
    }
  }
}

std::vector<ScoredToken> TokensOfPieces::take(std::string_view piece) {
  text_ += piece;
  const auto behind =
      std::ranges::find_if(waiting_, [&](const ScoredToken& token) { return token.text_offset >= std::ssize(text_); });
  std::vector<ScoredToken> taken(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(behind));
  waiting_.erase(waiting_.begin(), behind);
  return taken;
}

}  // namespace heed::serve::openai
