#include "interchange/gguf/gguf_merged_tokenizer.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/errors.h"
#include "interchange/gguf/gguf_cuts.h"

namespace heed {
namespace {

using Document = nlohmann::json;

enum class ListedType : int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

constexpr std::string_view kMarkedSpace = "\u2581";

[[noreturn]] void refuse_tokenizer(const std::string& where, std::string_view what) {
  fail<ConfigError>(where, "its tokenizer {}, which llama.cpp lacks", what);
}

std::string type_in(const Document& part) { return part.is_object() ? part.value("type", "") : ""; }

// The parts of a Sequence; anything else is its own only part, and null has none.
std::vector<Document> parts_of(const Document& part, const char* list) {
  if (part.is_null()) {
    return {};
  }
  return type_in(part) == "Sequence" ? part.at(list).get<std::vector<Document>>() : std::vector{part};
}

class MergedTokenizer {
 public:
  MergedTokenizer(const HuggingFaceTokenizer& tokenizer, int64_t rows, const std::string& where)
      : tokenizer_(tokenizer),
        where_(where),
        document_(Document::parse(tokenizer.serialize())),
        model_(document_.at("model")),
        types_(static_cast<size_t>(rows), static_cast<int32_t>(ListedType::unused)) {
    for (int64_t row = 0; row < rows; ++row) {
      texts_.push_back(filler(row));
    }
  }

  std::vector<GgufEntry> entries() {
    if (type_in(model_) != "BPE" || !model_.value("dropout", Document()).is_null()) {
      refuse_tokenizer(where_, "is not a plain byte-pair encoding");
    }
    list_tokens();
    std::vector<GgufEntry> entries = of_pieces() ? scored() : cut_by_expressions();
    entries.push_back({"tokenizer.ggml.tokens", texts_});
    entries.push_back({"tokenizer.ggml.token_type", types_});
    add_marks(entries);
    return entries;
  }

 private:
  // As converters spell a row that stands for no text.
  static std::string filler(int64_t row) { return fmt::format("[PAD{}]", row); }

  bool of_pieces() const { return model_.value("byte_fallback", false); }

  void set(int64_t id, std::string text, ListedType type) {
    const auto index = static_cast<size_t>(id);
    ensure(index < texts_.size(), where_, "token {} of {}", id, texts_.size());
    texts_[index] = std::move(text);
    types_[index] = static_cast<int32_t>(type);
  }

  void list_tokens() {
    for (const auto& [text, id] : model_.at("vocab").items()) {
      const auto row = id.get<int64_t>();
      const bool is_byte = of_pieces() && text.size() == 6 && text.starts_with("<0x") && text.ends_with(">");
      const bool is_filler = text == filler(row);
      set(row, text, is_byte ? ListedType::byte : is_filler ? ListedType::unused : ListedType::normal);
    }
    for (const Document& added : document_.value("added_tokens", Document::array())) {
      for (const char* const key : {"single_word", "lstrip", "rstrip", "normalized"}) {
        if (added.value(key, false)) {
          refuse_tokenizer(where_, fmt::format("has the token '{}' with \"{}\"", added.at("content").dump(), key));
        }
      }
      set(added.at("id").get<int64_t>(), added.at("content").get<std::string>(),
          added.value("special", false) ? ListedType::control : ListedType::user_defined);
    }
    const Document unknown = model_.value("unk_token", Document());
    const auto id =
        unknown.is_string() ? model_.at("vocab").find(unknown.get<std::string>()) : model_.at("vocab").end();
    if (id != model_.at("vocab").end()) {
      set(id->get<int64_t>(), unknown.get<std::string>(), ListedType::unknown);
    }
  }

  std::vector<std::pair<std::string, std::string>> merges() const {
    std::vector<std::pair<std::string, std::string>> merges;
    for (const Document& merge : model_.at("merges")) {
      if (merge.is_array()) {
        merges.emplace_back(merge.at(0).get<std::string>(), merge.at(1).get<std::string>());
        continue;
      }
      const auto both = merge.get<std::string>();
      const size_t space = both.find(' ');
      merges.emplace_back(both.substr(0, space), both.substr(space + 1));
    }
    return merges;
  }

  // SentencePiece's order: a piece's rank is that of the merges that make it, which follow each other.
  std::vector<GgufEntry> scored() {
    require_plain_normalizer();
    std::map<std::string, float> scores;
    std::string last;
    for (const auto& [left, right] : merges()) {
      const std::string text = left + right;
      const bool is_new = scores.emplace(text, -static_cast<float>(scores.size())).second;
      if (!is_new && text != last) {
        refuse_tokenizer(where_, fmt::format("makes '{}' by merges that do not follow each other", text));
      }
      last = text;
    }
    std::vector<float> all;
    for (const std::string& text : texts_) {
      const auto score = scores.find(text);
      all.push_back(score == scores.end() ? -static_cast<float>(scores.size()) : score->second);
    }
    if (!spells_all_bytes()) {
      refuse_tokenizer(where_, "cannot spell unknown characters in bytes");
    }
    return {{"tokenizer.ggml.model", std::string("llama")},
            {"tokenizer.ggml.pre", std::string("default")},
            {"tokenizer.ggml.scores", std::move(all)},
            {"tokenizer.ggml.add_space_prefix", puts_space_}};
  }

  // A symbol of one byte, such as a line break, spells it too.
  bool spells_all_bytes() const {
    constexpr int kBytes = 256;
    const std::set<std::string> texts(texts_.begin(), texts_.end());
    int spelled = 0;
    for (int byte = 0; byte < kBytes; ++byte) {
      spelled +=
          texts.contains(fmt::format("<0x{:02X}>", byte)) || texts.contains(std::string(1, static_cast<char>(byte)));
    }
    return spelled == kBytes;
  }

  // Spaces are marked, and perhaps one is put before the text; nothing else.
  void require_plain_normalizer() {
    for (const Document& part : parts_of(document_.value("normalizer", Document()), "normalizers")) {
      const bool puts_space = type_in(part) == "Prepend" && part.value("prepend", "") == kMarkedSpace;
      const bool marks = type_in(part) == "Replace" && part.value("content", "") == kMarkedSpace &&
                         part.value("pattern", Document::object()).value("String", "") == " ";
      if (!puts_space && !marks) {
        refuse_tokenizer(where_, fmt::format("normalizes texts by {}", type_in(part)));
      }
      puts_space_ = puts_space_ || puts_space;
    }
    // Words that end at marked spaces are not apart, after these were replaced.
    for (const Document& part : parts_of(document_.value("pre_tokenizer", Document()), "pretokenizers")) {
      if (type_in(part) != "Split" || part.value("pattern", Document::object()).value("String", "") != " ") {
        refuse_tokenizer(where_, fmt::format("cuts texts by {}", type_in(part)));
      }
    }
  }

  std::vector<GgufEntry> cut_by_expressions() const {
    for (const Document& part : parts_of(document_.value("normalizer", Document()), "normalizers")) {
      // Nearly all text is in this form.
      if (type_in(part) != "NFC") {
        refuse_tokenizer(where_, fmt::format("normalizes texts by {}", type_in(part)));
      }
    }
    const std::optional<std::string_view> cut = gguf_cut_by({expressions(), model_.value("ignore_merges", false)});
    if (!cut) {
      refuse_tokenizer(where_, "cuts texts by an expression without a name there");
    }
    std::vector<std::string> lines;
    for (const auto& [left, right] : merges()) {
      lines.push_back(fmt::format("{} {}", left, right));
    }
    return {{"tokenizer.ggml.model", std::string("gpt2")},
            {"tokenizer.ggml.pre", std::string(*cut)},
            {"tokenizer.ggml.merges", std::move(lines)}};
  }

  std::vector<std::string> expressions() const {
    std::vector<std::string> found;
    bool has_bytes = false;
    for (const Document& part : parts_of(document_.value("pre_tokenizer", Document()), "pretokenizers")) {
      const std::string type = type_in(part);
      const Document pattern = part.value("pattern", Document::object());
      const bool keeps_matches = part.value("behavior", "") == "Isolated" ||
                                 (part.value("behavior", "") == "Removed" && part.value("invert", false));
      if (type == "Split" && pattern.contains("Regex") && keeps_matches && !has_bytes) {
        found.push_back(pattern.at("Regex").get<std::string>());
      } else if (type == "Digits" && part.value("individual_digits", false) && !has_bytes) {
        found.emplace_back(R"(\p{N})");
      } else if (type == "ByteLevel" && !part.value("add_prefix_space", true) && !has_bytes) {
        has_bytes = true;
        if (part.value("use_regex", true)) {
          found.emplace_back(kGgufGpt2Expression);
        }
      } else {
        refuse_tokenizer(where_, fmt::format("cuts texts by {}", type));
      }
    }
    if (!has_bytes) {
      refuse_tokenizer(where_, "is not of bytes");
    }
    return found;
  }

  void add_marks(std::vector<GgufEntry>& entries) const {
    const SpecialTokens& special = tokenizer_.special();
    const std::span<const FrameSlot> frame = tokenizer_.frame(1);
    const bool begins = frame.size() == 2 && frame[0].text == FrameSlot::kToken;
    if (frame.size() > 1 && !begins) {
      refuse_tokenizer(where_, "puts more around texts than one token before them");
    }
    require<ConfigError>(special.eos != kNoToken, where_, "its tokenizer has no eos, which llama.cpp needs");
    const auto add = [&](const char* mark, TokenId token) {
      if (token != kNoToken) {
        entries.push_back({fmt::format("tokenizer.ggml.{}_token_id", mark), static_cast<uint32_t>(token.value)});
      }
    };
    add("bos", begins ? frame[0].token : special.bos);
    add("eos", special.eos);
    if (of_pieces()) {
      add("unknown", special.unk);
    }
    add("padding", special.pad);
    entries.push_back({"tokenizer.ggml.add_bos_token", begins});
    entries.push_back({"tokenizer.ggml.add_eos_token", false});
  }

  const HuggingFaceTokenizer& tokenizer_;
  std::string where_;
  Document document_;
  const Document& model_;
  std::vector<std::string> texts_;
  std::vector<int32_t> types_;
  bool puts_space_ = false;
};

}  // namespace

std::vector<GgufEntry> merged_tokenizer_entries(const HuggingFaceTokenizer& tokenizer, int64_t rows,
                                                const std::string& where) {
  return MergedTokenizer(tokenizer, rows, where).entries();
}

}  // namespace heed
