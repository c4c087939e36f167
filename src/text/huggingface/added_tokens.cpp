#include "text/huggingface/added_tokens.h"

#include <algorithm>
#include <unordered_map>

#include "base/errors.h"
#include "text/huggingface/characters/characters.h"

namespace heed::huggingface {
namespace {

AddedToken read_added_token(const JsonValue& json, const Normalizer* normalizer) {
  AddedToken token{.text = json.at("content").text(), .found = {}};
  token.special = json.boolean_or("special", false);
  token.single_word = json.boolean_or("single_word", false);
  token.strips_left = json.boolean_or("lstrip", false);
  token.strips_right = json.boolean_or("rstrip", false);
  token.normalized = json.boolean_or("normalized", !token.special);
  token.found = token.text;
  if (token.normalized && normalizer != nullptr) {
    AlignedText text(token.text, 0, Tracking::off);
    normalizer->apply(text);
    token.found = text.view();
  }
  return token;
}

char32_t character_before(std::string_view text, size_t at) {
  do {
    --at;
  } while (continues_character(text[at]));
  return decode_character(text.data() + at).value;
}

}  // namespace

AddedTokens::AddedTokens(const JsonValue& json, const TokenModel& model, const Normalizer* normalizer,
                         std::vector<std::string>& notes) {
  std::unordered_map<std::string, int32_t> ids;
  auto next = static_cast<int64_t>(model.vocabulary().size());
  for (size_t i = 0; i < json.size(); ++i) {
    const JsonValue entry = json[i];
    AddedToken token = read_added_token(entry, normalizer);
    if (token.text.empty()) {
      continue;
    }
    int32_t id = model.find(token.text);
    if (const auto known = ids.find(token.text); known != ids.end()) {
      id = known->second;
    }
    if (id == TokenTable::kNone) {
      require<FormatError>(next <= kMaxTokenId, entry.where(), "more than {} tokens", kMaxTokenId);
      id = static_cast<int32_t>(next++);
    }
    if (const int64_t said = entry.at("id").integer(0, UINT32_MAX); said != id) {
      notes.push_back(fmt::format("the added token '{}' says that its id is {}, but it is {}", token.text, said, id));
    }
    ids[token.text] = id;
    if (token.special) {
      specials_.insert(token.text);
    }
    add(std::move(token), id);
  }
  std::vector<std::pair<std::string_view, int32_t>> raw, normalized;
  for (const auto& [id, token] : tokens_) {
    (token.normalized ? normalized : raw).emplace_back(token.found, id);
  }
  raw_ = Finder(std::move(raw));
  normalized_ = Finder(std::move(normalized));
}

const AddedToken* AddedTokens::find(int32_t id) const {
  const auto it = tokens_.find(id);
  return it == tokens_.end() ? nullptr : &it->second;
}

AddedTokens::Finder::Finder(std::vector<std::pair<std::string_view, int32_t>> texts) {
  std::erase_if(texts, [](const auto& text) { return text.first.empty(); });
  empty_ = texts.empty();
  trie_ = ByteTrie(std::move(texts));
}

bool AddedTokens::Finder::match(std::string_view text, size_t& at, size_t& end, int32_t& token) const {
  for (; at < text.size(); ++at) {
    ByteTrie::Node node = trie_.next(ByteTrie::kRoot, text[at]);
    token = TokenTable::kNone;
    for (size_t i = at + 1; node != ByteTrie::kNowhere; ++i) {
      if (trie_.value(node) != ByteTrie::kNone) {
        token = trie_.value(node);
        end = i;
      }
      if (i == text.size()) {
        break;
      }
      node = trie_.next(node, text[i]);
    }
    if (token != TokenTable::kNone) {
      return true;
    }
  }
  return false;
}

void AddedTokens::Finder::cut(const AddedTokens& added, std::string_view text, const SpecialRule& special,
                              std::vector<AddedMatch>& parts) const {
  size_t done = 0, at = 0, match_end = 0;
  int32_t token = TokenTable::kNone;
  for (; !empty_ && match(text, at, match_end, token); at = match_end) {
    const AddedToken& found = added.tokens_.at(token);
    size_t begin = at, end = match_end;
    if (special.text == SpecialText::literal && token != special.matched.value &&
        added.specials_.contains(found.text)) {
      continue;
    }
    if (found.single_word && ((begin > 0 && record_of(character_before(text, begin)).is_word()) ||
                              (end < text.size() && record_of(decode_character(text.data() + end).value).is_word()))) {
      continue;
    }
    if (found.strips_left) {
      while (begin > done && record_of(character_before(text, begin)).is_space()) {
        do {
          --begin;
        } while (continues_character(text[begin]));
      }
    }
    while (found.strips_right && end < text.size()) {
      const auto [value, size] = decode_character(text.data() + end);
      if (!record_of(value).is_space()) {
        break;
      }
      end += size;
    }
    if (done < begin) {
      parts.push_back({static_cast<uint32_t>(done), static_cast<uint32_t>(begin), TokenTable::kNone});
    }
    parts.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end), token});
    done = end;
  }
  if (done < text.size()) {
    parts.push_back({static_cast<uint32_t>(done), static_cast<uint32_t>(text.size()), TokenTable::kNone});
  }
}

}  // namespace heed::huggingface
