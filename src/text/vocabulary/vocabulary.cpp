#include "text/vocabulary/vocabulary.h"

#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "base/text/json_depth.h"
#include "base/text/json_tree.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "heed-tokenizer";
constexpr int kVersion = 1;

// The file ends with the checksum of everything before it.
constexpr std::string_view kBeforeChecksum = ",\n \"checksum\": \"";
constexpr std::string_view kAfterChecksum = "\"\n}\n";
constexpr size_t kChecksumDigits = 16;
constexpr size_t kTailSize = kBeforeChecksum.size() + kChecksumDigits + kAfterChecksum.size();

const Json& member(const Json& object, const char* name, std::string_view where) {
  const auto it = object.find(name);
  require<FormatError>(it != object.end(), where, "the key '{}' is missing", name);
  return *it;
}

std::string string_of(const Json& value, std::string_view name, std::string_view where) {
  require<FormatError>(value.is_string(), where, "{} must be a string, found {}", name, value.type_name());
  return value.get<std::string>();
}

std::vector<std::string> texts_of(const Json& values, std::string_view name, std::string_view where) {
  require<FormatError>(values.is_array(), where, "{} must be an array, found {}", name, values.type_name());
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const Json& value : values) {
    texts.push_back(string_of(value, fmt::format("{}[{}]", name, texts.size()), where));
  }
  return texts;
}

JsonTree<Json> parse_object(std::string_view content, std::string_view where) {
  require_shallow_json(content, where);
  JsonTree<Json> file = parse_json_tree<Json>(content, [&](const Json::exception& error) {
    if (const auto* const wrong = dynamic_cast<const Json::parse_error*>(&error)) {
      fail<FormatError>(where, "a vocabulary in JSON was expected; byte {} is not JSON", wrong->byte);
    }
    fail<FormatError>(where, "a vocabulary in JSON was expected: {}", error.what());
  });
  require<FormatError>(file.root().is_object(), where, "expected a JSON object, found {}", file.root().type_name());
  return file;
}

void check_header(const Json& file, std::string_view where) {
  const auto format = file.find("format");
  require<FormatError>(format != file.end() && *format == kFormat, where,
                       "this is not a tokenizer: the key 'format' is not '{}'", kFormat);
  const Json& version = member(file, "version", where);
  require<FormatError>(version.is_number_integer() && version == kVersion, where, "version is {}, expected {}",
                       shown(version.dump()), kVersion);
}

void check_checksum(std::string_view content, std::string_view where) {
  require<FormatError>(content.size() > kTailSize && content.ends_with(kAfterChecksum) &&
                           content.substr(content.size() - kTailSize).starts_with(kBeforeChecksum),
                       where, "it does not end with its checksum: the file was edited or cut off");
  const std::string_view written =
      content.substr(content.size() - kAfterChecksum.size() - kChecksumDigits, kChecksumDigits);
  const std::string found = checksum_of(content.substr(0, content.size() - kTailSize));
  require<FormatError>(written == found, where,
                       "its content does not match its checksum ({} is written, {} was found): the file was edited",
                       replace_invalid_utf8(std::string(written)), found);
}

SpecialTexts special_of(const Json& values, std::string_view where) {
  require<FormatError>(values.is_object(), where, "special must be an object, found {}", values.type_name());
  const auto text = [&](const char* name) { return string_of(member(values, name, where), name, where); };
  return {.pad = text("pad"), .unk = text("unk"), .bos = text("bos"), .eos = text("eos"), .sep = text("sep")};
}

void check_piece(const Vocabulary& vocabulary, const std::string& piece, std::string_view where) {
  switch (vocabulary.kind) {
    case TokenizerKind::character:
      require<FormatError>(to_code_points(piece).size() == 1, where, "the piece '{}' is not one character",
                           show_piece(piece));
      break;
    case TokenizerKind::word:
    case TokenizerKind::wordpiece:
      require<FormatError>(!piece.empty() && piece.find_first_of(" \t\n") == std::string::npos, where,
                           "the piece '{}' is not a word", show_piece(piece));
      break;
    default:
      fail<FormatError>(where, "a {} tokenizer lists no pieces", name_of(vocabulary.kind));
  }
}

void check_pieces(const Vocabulary& vocabulary, std::string_view where) {
  std::unordered_set<std::string_view> seen;
  const std::vector<std::string> special = vocabulary.special.in_order();
  seen.insert(special.begin(), special.end());
  seen.insert(vocabulary.user_symbols.begin(), vocabulary.user_symbols.end());
  for (const std::string& piece : vocabulary.pieces) {
    check_piece(vocabulary, piece, where);
    require<FormatError>(seen.insert(piece).second, where, "the piece '{}' occurs twice", show_piece(piece));
  }
}

}  // namespace

void check_symbols(const SpecialTexts& special, const std::vector<std::string>& user_symbols,
                   Normalization normalization) {
  std::unordered_map<std::string, std::string> seen;  // by text: the symbol that has it
  const auto check = [&](const std::string& text, const std::string& what) {
    require<ConfigError>(!text.empty(), what, "the text is empty");
    require<ConfigError>(!find_invalid_utf8(text), what, "the text is not UTF-8");
    const auto [same, added] = seen.emplace(text, what);
    require<ConfigError>(added, what, "'{}' occurs twice{}", show_piece(text),
                         same->second == what ? "" : fmt::format(", first as {}", same->second));
    require<ConfigError>(!text.starts_with("<0x") && !text.starts_with("<U+"), what,
                         "'{}' begins like the notation of bytes and invisible characters", show_piece(text));
  };
  constexpr std::array<std::string_view, kSpecials> kRoles{"pad", "unk", "bos", "eos", "sep"};
  for (size_t i = 0; i < kSpecials; ++i) {
    const std::string text = special.in_order()[i], what = fmt::format("special token {}", kRoles[i]);
    check(text, what);
    // A token of one character could not be distinguished from the character.
    require<ConfigError>(
        to_code_points(text).size() > 1 && show_piece(text) == text && text.find("\u2581") == std::string::npos, what,
        "'{}' must have two characters or more, none of them white space", show_piece(text));
  }
  for (const std::string& text : user_symbols) {
    check(text, "user symbol");
    const std::string normal = normalize(text, normalization);
    require<ConfigError>(normal == text, "user symbol", "'{}' never occurs: normalization ({}) makes it '{}'", text,
                         name_of(normalization), normal);
  }
}

std::string write_vocabulary(const Vocabulary& vocabulary) {
  const SpecialTexts& special = vocabulary.special;
  const nlohmann::ordered_json file{
      {"format", kFormat},
      {"version", kVersion},
      {"kind", name_of(vocabulary.kind)},
      {"normalization", name_of(vocabulary.normalization)},
      {"special",
       {{"pad", special.pad}, {"unk", special.unk}, {"bos", special.bos}, {"eos", special.eos}, {"sep", special.sep}}},
      {"user_symbols", vocabulary.user_symbols},
      {"pieces", vocabulary.pieces},
  };
  std::string content = file.dump(1);
  content.resize(content.size() - 2);  // the closing "\n}"
  const std::string checksum = checksum_of(content);
  return content.append(kBeforeChecksum).append(checksum).append(kAfterChecksum);
}

Vocabulary parse_vocabulary(std::string_view content, std::string_view where) {
  const JsonTree<Json> tree = parse_object(content, where);
  const Json& file = tree.root();
  check_header(file, where);
  check_checksum(content, where);
  Vocabulary vocabulary;
  try {
    vocabulary.kind = parse_tokenizer_kind(string_of(member(file, "kind", where), "kind", where));
    vocabulary.normalization =
        parse_normalization(string_of(member(file, "normalization", where), "normalization", where));
    vocabulary.special = special_of(member(file, "special", where), where);
    vocabulary.user_symbols = texts_of(member(file, "user_symbols", where), "user_symbols", where);
    check_symbols(vocabulary.special, vocabulary.user_symbols, vocabulary.normalization);
  } catch (const ConfigError& error) {
    fail<FormatError>(where, "{}", error.what());
  }
  require<FormatError>(vocabulary.kind != TokenizerKind::bpe && vocabulary.kind != TokenizerKind::unigram, where,
                       "a {} tokenizer is a SentencePiece model, not JSON", name_of(vocabulary.kind));
  vocabulary.pieces = texts_of(member(file, "pieces", where), "pieces", where);
  check_pieces(vocabulary, where);
  return vocabulary;
}

std::string checksum_of(std::string_view content) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char byte : content) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace heed
