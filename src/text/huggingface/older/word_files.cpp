// BERT's vocab.txt, GPT-2's vocab.json with merges.txt, and lists of tokens that stand between spaces.
#include "base/errors.h"
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/models/model.h"
#include "text/huggingface/older/documents.h"
#include "text/huggingface/older/older_files.h"
#include "text/unicode/unicode.h"

namespace heed::huggingface {
namespace {

// Without the white space behind it.
std::string_view trimmed_end(std::string_view line) {
  while (!line.empty()) {
    size_t last = line.size() - 1;
    while (last > 0 && continues_character(line[last])) {
      --last;
    }
    if (!record_of(decode_character(line.data() + last).value).is_space()) {
      break;
    }
    line = line.substr(0, last);
  }
  return line;
}

// The line of a token is its id; of equal tokens the last counts.
TokenIds read_lines(std::string_view text, std::string_view where) {
  require_text_lines(text, where);
  TokenIds ids;
  for (int64_t line = 0; !text.empty(); ++line) {
    require<FormatError>(line <= kMaxTokenId, where, "more than {} tokens", kMaxTokenId);
    ids.insert_or_assign(std::string(trimmed_end(next_line(text))), line);
  }
  require<FormatError>(!ids.empty(), where, "expected a token a line, found an empty file");
  return ids;
}

}  // namespace

std::string tokenizer_json_of(const BertFile& file, std::string_view where) {
  const TokenIds ids = read_lines(file.vocabulary, where);
  Json accents = nullptr;
  if (file.strip_accents) {
    accents = *file.strip_accents;
  }
  const Json document{{"added_tokens", added_special_tokens(file.names, ids)},
                      {"normalizer",
                       {{"type", "BertNormalizer"},
                        {"clean_text", true},
                        {"handle_chinese_chars", file.chinese_characters},
                        {"strip_accents", accents},
                        {"lowercase", file.lower_case}}},
                      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                      {"post_processor", frame_processor(file.frame, file.names, "", ids, where)},
                      {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
                      {"model",
                       {{"type", "WordPiece"},
                        {"unk_token", file.names.unk},
                        {"continuing_subword_prefix", "##"},
                        {"max_input_chars_per_word", 100},
                        {"vocab", vocabulary_object(ids)}}}};
  return write_document(document, where);
}

std::string tokenizer_json_of(const ByteLevelFiles& files, std::string_view where) {
  const JsonTree<Json> tree = parse_json(files.vocabulary, where);
  const Json& parsed = tree.root();
  require<FormatError>(parsed.is_object(), where, "expected an object of tokens and their ids");
  TokenIds ids;
  for (const auto& [text, id] : parsed.items()) {
    ids[text] = JsonValue(id, fmt::format("{}.{}", where, text)).integer(0, kMaxTokenId);
  }
  Json merges = Json::array();
  for (std::string_view rest = files.merges; !rest.empty();) {
    const std::string_view line = next_line(rest);
    if (!line.empty() && !line.starts_with("#version")) {
      merges.push_back(std::string(line));
    }
  }
  const Json byte_level{
      {"type", "ByteLevel"}, {"add_prefix_space", files.prefix_space}, {"trim_offsets", true}, {"use_regex", true}};
  Json processor = byte_level;
  processor["trim_offsets"] = false;
  if (files.frame == TextFrame::roberta) {
    const auto end = [&](const std::string& text) -> Json {
      const auto it = ids.find(text);
      require<FormatError>(it != ids.end(), where, "the vocabulary lacks the token '{}', which stands around texts",
                           text);
      return {text, it->second};
    };
    const SpecialNames& names = files.names;
    processor = {{"type", "RobertaProcessing"},
                 {"sep", end(names.sep.empty() ? names.eos : names.sep)},
                 {"cls", end(names.cls.empty() ? names.bos : names.cls)},
                 {"trim_offsets", true},
                 {"add_prefix_space", files.prefix_space}};
  } else if (files.frame != TextFrame::none) {
    processor = frame_processor(files.frame, files.names, "", ids, where);
  }
  Json normalizer = nullptr;
  if (files.composed == Composed::yes) {
    normalizer = {{"type", "NFC"}};
  }
  const Json document{{"added_tokens", added_special_tokens(files.names, ids)},
                      {"normalizer", normalizer},
                      {"pre_tokenizer", byte_level},
                      {"post_processor", processor},
                      {"decoder", byte_level},
                      {"model",
                       {{"type", "BPE"},
                        {"dropout", nullptr},
                        {"unk_token", nullptr},
                        {"continuing_subword_prefix", ""},
                        {"end_of_word_suffix", ""},
                        {"fuse_unk", false},
                        {"vocab", vocabulary_object(ids)},
                        {"merges", merges}}}};
  return write_document(document, where);
}

std::string tokenizer_json_of(const SpacedTokens& tokens, std::string_view where) {
  TokenIds ids;
  for (size_t i = 0; i < tokens.tokens.size(); ++i) {
    require<FormatError>(!find_invalid_utf8(tokens.tokens[i]), where, "token {} is not UTF-8", i);
    ids.emplace(tokens.tokens[i], static_cast<int64_t>(i));
  }
  const Json document{
      {"added_tokens", added_special_tokens(tokens.names, ids)},
      {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
      {"post_processor", frame_processor(tokens.frame, tokens.names, "", ids, where)},
      {"model", {{"type", "WordLevel"}, {"vocab", vocabulary_object(ids)}, {"unk_token", tokens.names.unk}}}};
  return write_document(document, where);
}

}  // namespace heed::huggingface
