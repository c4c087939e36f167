#include "decode/texts/translation/translation_frame.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/errors.h"

namespace heed {
namespace {

constexpr std::string_view kName = "{}";
// Languages of this form are written in front of the source, all others stand in frames.
constexpr std::string_view kInText = ">>{}<<";

// Whether it is none of the special tokens.
bool is_language(const Tokenizer& tokenizer, int32_t token) {
  const SpecialTokens& special = tokenizer.special();
  return std::ranges::none_of(std::array{special.pad, special.unk, special.bos, special.eos, special.sep},
                              [&](TokenId mark) { return mark.value == token; });
}

constexpr std::string_view kSource = "source language", kTarget = "target language";  // options

template <class... Args>
void require_language(bool condition, std::string_view option, fmt::format_string<Args...> problem, Args&&... args) {
  if (!condition) {
    throw OptionError("translation", std::string(option), fmt::format(problem, std::forward<Args>(args)...));
  }
}

int32_t language_token(const Tokenizer& tokenizer, std::string form, std::string_view option,
                       const std::string& language) {
  require_language(!form.empty(), option, "is given, but the model translates one language into one other");
  form.replace(form.find(kName), kName.size(), language);
  const std::optional<TokenId> token = tokenizer.find(show_piece(form));
  require_language(token.has_value(), option, "'{}' is none of the model's: its vocabulary lacks '{}'", language, form);
  // A bare name could also be a word.
  require_language(form != language || (is_language(tokenizer, token->value) && tokenizer.decode({{*token}}).empty()),
                   option, "'{}' is a token of the model, but not a language", language);
  return token->value;
}

// Puts the language in the place of another one, or else at `end` of the tokens.
void set_language(const Tokenizer& tokenizer, int32_t language, std::vector<int32_t>& tokens,
                  std::vector<int32_t>::iterator end) {
  const auto found = std::ranges::find_if(tokens, [&](int32_t token) { return is_language(tokenizer, token); });
  if (found != tokens.end()) {
    *found = language;
  } else {
    tokens.insert(end, language);
  }
}

}  // namespace

TranslationFrame::TranslationFrame(const TranslationTokenizers& tokenizers, const ModelMarks& marks,
                                   const LanguagePair& languages)
    : target_start_(marks.target_start), knows_target_(true) {
  if (target_start_.empty()) {
    target_start_.push_back(tokenizers.target.special().bos.value);
  }
  set_source(tokenizers.source);
  const bool in_text = marks.language_form == kInText;
  if (!languages.source.empty()) {
    require_language(!in_text, kSource, "is given, but the model takes sources of any of its languages");
    const int32_t token = language_token(tokenizers.source, marks.language_form, kSource, languages.source);
    const bool is_behind =
        std::ranges::any_of(after_, [&](int32_t one) { return is_language(tokenizers.source, one); });
    std::vector<int32_t>& tokens = is_behind ? after_ : before_;
    set_language(tokenizers.source, token, tokens, tokens.begin());
  }
  if (!languages.target.empty()) {
    const Tokenizer& tokenizer = in_text ? tokenizers.source : tokenizers.target;
    const int32_t token = language_token(tokenizer, marks.language_form, kTarget, languages.target);
    std::vector<int32_t>& tokens = in_text ? before_ : target_start_;
    set_language(tokenizer, token, tokens, tokens.end());
  }
  knows_target_ = marks.language_form.empty() || in_text || std::ranges::any_of(target_start_, [&](int32_t token) {
                    return is_language(tokenizers.target, token);
                  });
}

void TranslationFrame::require_target() const {
  require_language(knows_target_, kTarget, "is missing, but the model writes several languages");
}

void TranslationFrame::set_source(const Tokenizer& tokenizer) {
  bool is_after = false;
  for (const FrameSlot& slot : tokenizer.frame(1)) {
    if (slot.text != FrameSlot::kToken) {
      is_after = true;
    } else {
      (is_after ? after_ : before_).push_back(slot.token.value);
    }
  }
  if (tokenizer.frame(1).empty()) {
    after_.push_back(tokenizer.special().eos.value);
  }
}

std::vector<int32_t> TranslationFrame::around_source(std::vector<int32_t> ids) const {
  ids.insert(ids.begin(), before_.begin(), before_.end());
  ids.insert(ids.end(), after_.begin(), after_.end());
  return ids;
}

std::vector<int32_t> TranslationFrame::forced_target(const std::vector<int32_t>& ids) const {
  std::vector<int32_t> all(target_start_.begin() + 1, target_start_.end());
  all.insert(all.end(), ids.begin(), ids.end());
  return all;
}

}  // namespace heed
