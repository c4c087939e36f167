#include "text/huggingface/decoders/decoder.h"

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "text/huggingface/characters/byte_characters.h"
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/normalizers/rewriting.h"
#include "text/unicode/unicode.h"

namespace heed::huggingface {
namespace {

constexpr size_t kLongestToken = size_t{1} << 22U;  // that a decoder may write
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

void replace_in(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty() || text.find(from) == std::string::npos) {
    return;
  }
  std::string result;
  size_t begin = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, begin)) {
    result.append(text, begin, at - begin).append(to);
    begin = at + from.size();
  }
  text = result.append(text, begin);
}

// Takes spaces back that English text has not.
void clean_up(std::string& text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kChanges{{{" .", "."},
                                                                                    {" ?", "?"},
                                                                                    {" !", "!"},
                                                                                    {" ,", ","},
                                                                                    {" ' ", "'"},
                                                                                    {" n't", "n't"},
                                                                                    {" 'm", "'m"},
                                                                                    {" do not", " don't"},
                                                                                    {" 's", "'s"},
                                                                                    {" 've", "'ve"},
                                                                                    {" 're", "'re"}}};
  for (const auto& [from, to] : kChanges) {
    replace_in(text, from, to);
  }
}

class ByteLevelDecoder final : public Decoder {
 public:
  explicit ByteLevelDecoder(const JsonValue&) {}

  void apply(std::vector<std::string>& tokens) const override {
    std::string text;
    for (std::string& token : tokens) {
      apply_alone(token);
      text += token;
    }
    tokens.assign(1, replace_invalid_utf8(std::move(text)));
  }

  void apply_alone(std::string& token) const override {
    if (std::optional<std::string> bytes = bytes_from_characters(token)) {
      token = std::move(*bytes);
    }
  }
};

// A run of tokens like <0xE2> is a text if its bytes are one, else a replacement character for each.
class ByteFallbackDecoder final : public Decoder {
 public:
  explicit ByteFallbackDecoder(const JsonValue&) {}

  void apply(std::vector<std::string>& tokens) const override {
    std::vector<std::string> result;
    std::string bytes;
    const auto end_bytes = [&] {
      if (bytes.empty()) {
        return;
      }
      if (find_invalid_utf8(bytes)) {
        result.insert(result.end(), bytes.size(), std::string(kReplacement));
      } else {
        result.push_back(bytes);
      }
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const std::optional<char> byte = byte_of(token)) {
        bytes.push_back(*byte);
      } else {
        end_bytes();
        result.push_back(std::move(token));
      }
    }
    end_bytes();
    tokens = std::move(result);
  }

  void apply_alone(std::string& token) const override {
    if (const std::optional<char> byte = byte_of(token)) {
      token.assign(1, *byte);
    }
  }

 private:
  static std::optional<char> byte_of(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) {
      return std::nullopt;
    }
    int value = 0;
    for (const char c : token.substr(3, 2)) {
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) {
        return std::nullopt;
      }
      value = value * 16 + digit;
    }
    return static_cast<char>(value);
  }
};

class FuseDecoder final : public Decoder {
 public:
  explicit FuseDecoder(const JsonValue&) {}

  void apply(std::vector<std::string>& tokens) const override {
    std::string text;
    for (const std::string& token : tokens) {
      text += token;
    }
    tokens.assign(1, text);
  }
  bool fuses() const override { return true; }
  void apply_alone(std::string&) const override {}
};

class StripDecoder final : public Decoder {
 public:
  explicit StripDecoder(const JsonValue& json)
      : content_(to_text(json.at("content").character())),
        start_(json.at("start").integer(0, INT64_MAX)),
        stop_(json.at("stop").integer(0, INT64_MAX)) {}

  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      size_t begin = 0, end = token.size();
      for (int64_t i = 0; i < start_ && std::string_view(token).substr(begin).starts_with(content_); ++i) {
        begin += content_.size();
      }
      for (int64_t i = 0;
           i < stop_ && end >= begin + content_.size() && std::string_view(token).substr(0, end).ends_with(content_);
           ++i) {
        end -= content_.size();
      }
      token = token.substr(begin, end - begin);
    }
  }

  bool is_local() const override { return start_ <= 1 && stop_ == 0 && content_ == " "; }
  bool drops_first_space() const override { return start_ == 1; }
  bool drops_in_each() const override { return true; }
  void apply_alone(std::string&) const override {}

 private:
  std::string content_;
  int64_t start_, stop_;
};

class ReplaceDecoder final : public Decoder {
 public:
  explicit ReplaceDecoder(const JsonValue& json)
      : pattern_(read_pattern(json.at("pattern"))), content_(json.at("content").text()) {}

  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      apply_alone(token);
    }
  }

  void apply_alone(std::string& token) const override {
    std::vector<ByteRange> matches;
    pattern_->find_all(token, matches);
    if (matches.empty()) {
      return;
    }
    std::string result;
    size_t at = 0;
    for (const ByteRange match : matches) {
      result.append(token, at, match.begin - at).append(content_);
      require<FormatError>(result.size() <= std::max(kLongestToken, 4 * token.size()), "tokenizer",
                           "its decoder makes more than {} bytes of a token", result.size());
      at = match.end;
    }
    token = result.append(token, at);
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

class MetaspaceDecoder final : public Decoder {
 public:
  explicit MetaspaceDecoder(const JsonValue& json)
      : mark_(to_text(json.at("replacement").character())),
        drops_(json.text_or("prepend_scheme", "always") != "never" && json.boolean_or("add_prefix_space", true)) {}

  void apply(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      replace_in(tokens[i], mark_, i == 0 && drops_ ? "" : " ");
    }
  }
  bool drops_first_space() const override { return drops_; }
  void apply_alone(std::string& token) const override { replace_in(token, mark_, " "); }

 private:
  std::string mark_;
  bool drops_;
};

class WordPieceDecoder final : public Decoder {
 public:
  explicit WordPieceDecoder(const JsonValue& json)
      : prefix_(json.at("prefix").text()), cleans_(json.at("cleanup").boolean()) {}

  void apply(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0) {
        if (tokens[i].starts_with(prefix_)) {
          tokens[i].erase(0, prefix_.size());
        } else {
          tokens[i].insert(0, 1, ' ');
        }
      }
      if (cleans_) {
        clean_up(tokens[i]);
      }
    }
  }
  bool is_local() const override { return false; }
  void apply_alone(std::string&) const override {}

 private:
  std::string prefix_;
  bool cleans_;
};

class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(const JsonValue& json) : suffix_(json.text_or("suffix", "</w>")) {}

  void apply(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      replace_in(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
    }
  }
  bool is_local() const override { return false; }
  void apply_alone(std::string&) const override {}

 private:
  std::string suffix_;
};

class CtcDecoder final : public Decoder {
 public:
  explicit CtcDecoder(const JsonValue& json)
      : pad_(json.at("pad_token").text()),
        delimiter_(json.at("word_delimiter_token").text()),
        cleans_(json.at("cleanup").boolean()) {}

  void apply(std::vector<std::string>& tokens) const override {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    for (std::string& token : tokens) {
      replace_in(token, pad_, "");
      if (cleans_) {
        clean_up(token);
        replace_in(token, delimiter_, " ");
      }
    }
    std::erase_if(tokens, [](const std::string& token) { return token.empty(); });
  }
  bool is_local() const override { return false; }
  void apply_alone(std::string&) const override {}

 private:
  std::string pad_, delimiter_;
  bool cleans_;
};

class SequenceDecoder final : public Decoder {
 public:
  explicit SequenceDecoder(const JsonValue& json) {
    const JsonValue list = json.at("decoders");
    for (size_t i = 0; i < list.size(); ++i) {
      parts_.push_back(read_decoder(list[i]));
    }
  }

  void apply(std::vector<std::string>& tokens) const override {
    for (const DecoderPtr& part : parts_) {
      part->apply(tokens);
    }
  }
  // A space that is dropped before the texts are put together is one of each token.
  bool is_local() const override {
    bool fused = false;
    for (const DecoderPtr& part : parts_) {
      if (!part->is_local() || (part->drops_first_space() && part->drops_in_each() && !fused)) {
        return false;
      }
      fused = fused || part->fuses();
    }
    return true;
  }
  bool drops_first_space() const override {
    return std::ranges::any_of(parts_, [](const DecoderPtr& part) { return part->drops_first_space(); });
  }
  void apply_alone(std::string& token) const override {
    for (const DecoderPtr& part : parts_) {
      part->apply_alone(token);
    }
  }

 private:
  std::vector<DecoderPtr> parts_;
};

template <class Kind>
DecoderPtr decoder_of(const JsonValue& json) {
  return std::make_unique<Kind>(json);
}

struct KnownDecoder {
  std::string_view type;
  DecoderPtr (*make)(const JsonValue&);
};

constexpr std::array kKnownDecoders{
    KnownDecoder{"ByteLevel", decoder_of<ByteLevelDecoder>},
    KnownDecoder{"ByteFallback", decoder_of<ByteFallbackDecoder>},
    KnownDecoder{"Fuse", decoder_of<FuseDecoder>},
    KnownDecoder{"Strip", decoder_of<StripDecoder>},
    KnownDecoder{"Replace", decoder_of<ReplaceDecoder>},
    KnownDecoder{"Metaspace", decoder_of<MetaspaceDecoder>},
    KnownDecoder{"WordPiece", decoder_of<WordPieceDecoder>},
    KnownDecoder{"BPEDecoder", decoder_of<BpeDecoder>},
    KnownDecoder{"CTC", decoder_of<CtcDecoder>},
    KnownDecoder{"Sequence", decoder_of<SequenceDecoder>},
};

}  // namespace

DecoderPtr read_decoder(const JsonValue& json) {
  const std::string type = json.at("type").text();
  for (const KnownDecoder& known : kKnownDecoders) {
    if (known.type == type) {
      return known.make(json);
    }
  }
  json.refuse(fmt::format("the decoder '{}' is unknown", type));
}

}  // namespace heed::huggingface
