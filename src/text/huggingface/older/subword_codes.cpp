// Codes of subword-nmt and of fastBPE, as byte-pair encoding whose last symbol of a word ends with "</w>".
#include <array>

#include "base/errors.h"
#include "text/huggingface/models/model.h"
#include "text/huggingface/older/documents.h"
#include "text/huggingface/older/older_files.h"
#include "text/unicode/unicode.h"

namespace heed::huggingface {
namespace {

constexpr std::string_view kGoesOn = "@@", kWordEnd = "</w>";

struct CodeMerge {
  std::string left, right;
};

// "left right", and in fastBPE's files how often they stood side by side.
CodeMerge read_merge(std::string_view line, std::string_view where, int64_t number) {
  std::array<std::string_view, 3> fields;
  size_t count = 0;
  for (std::string_view rest = line; !rest.empty() && count < fields.size(); ++count) {
    const size_t end = std::min(rest.find(' '), rest.size());
    fields[count] = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  require<FormatError>(count >= 2 && !fields[0].empty() && !fields[1].empty(), where,
                       "line {}: expected two symbols that are merged", number);
  require<FormatError>(fields[1] != kWordEnd, where,
                       "line {}: the end of a word is a symbol of its own, as in subword-nmt's version 0.1; heed reads "
                       "0.2",
                       number);
  return {std::string(fields[0]), std::string(fields[1])};
}

std::vector<CodeMerge> read_merges(std::string_view codes, std::string_view where) {
  require_text_lines(codes, where);
  std::vector<CodeMerge> merges;
  for (int64_t number = 1; !codes.empty(); ++number) {
    const std::string_view line = next_line(codes);
    if (!line.empty() && !line.starts_with("#version")) {
      merges.push_back(read_merge(line, where, number));
    }
  }
  require<FormatError>(!merges.empty(), where, "expected two symbols a line, found none");
  return merges;
}

// As symbols are spelled while they are merged.
std::string symbol_of(std::string_view token) {
  const bool goes_on = token.size() > kGoesOn.size() && token.ends_with(kGoesOn);
  return goes_on ? std::string(token.substr(0, token.size() - kGoesOn.size())) : fmt::format("{}{}", token, kWordEnd);
}

bool is_named(const SpecialNames& names, std::string_view token) {
  return token == names.bos || token == names.eos || token == names.unk || token == names.pad;
}

TokenIds symbols_of(const SubwordCodes& codes, std::string_view where) {
  TokenIds ids;
  bool goes_on = false;
  for (size_t i = 0; i < codes.tokens.size(); ++i) {
    const std::string& token = codes.tokens[i];
    require<FormatError>(!find_invalid_utf8(token), where, "token {} is not UTF-8", i);
    ids.emplace(is_named(codes.names, token) ? token : symbol_of(token), static_cast<int64_t>(i));
    goes_on = goes_on || token.ends_with(kGoesOn);
  }
  require<FormatError>(
      goes_on, where,
      "no token of the model ends with @@, so its text was not cut by these codes: remove the file, and "
      "give text that is cut already, with spaces between tokens");
  return ids;
}

}  // namespace

std::string tokenizer_json_of(const SubwordCodes& codes, std::string_view where) {
  TokenIds ids = symbols_of(codes, where);
  int64_t next = codes.rows;
  const auto add_step = [&](const std::string& symbol) { next += ids.emplace(symbol, next).second ? 1 : 0; };
  Json merges = Json::array();
  for (const CodeMerge& merge : read_merges(codes.codes, where)) {
    add_step(merge.left);
    add_step(merge.right);
    add_step(merge.left + merge.right);
    merges.push_back(fmt::format("{} {}", merge.left, merge.right));
  }
  const Json document{{"added_tokens", added_special_tokens(codes.names, ids)},
                      {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                      {"decoder", {{"type", "BPEDecoder"}, {"suffix", std::string(kWordEnd)}}},
                      {"model",
                       {{"type", "BPE"},
                        {"dropout", nullptr},
                        {"unk_token", codes.names.unk},
                        {"continuing_subword_prefix", ""},
                        {"end_of_word_suffix", std::string(kWordEnd)},
                        {"fuse_unk", false},
                        {"vocab", vocabulary_object(ids)},
                        {"merges", merges}}}};
  return write_document(document, where);
}

}  // namespace heed::huggingface
