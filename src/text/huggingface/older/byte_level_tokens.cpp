// Lists of byte-level tokens and their merges, without GPT-2's files.
#include "text/huggingface/older/documents.h"
#include "text/huggingface/older/older_files.h"
#include "text/huggingface/regex/pattern.h"

namespace heed::huggingface {
namespace {

Json byte_level_part(bool by_own_expression) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", by_own_expression}};
}

// The pre-tokenizer that cuts by expressions.
Json cutting_by(const std::vector<std::string>& expressions) {
  Json parts = Json::array();
  for (const std::string& expression : expressions) {
    if (&expression == &expressions.back() && expression == kByteLevelExpression) {
      parts.push_back(byte_level_part(true));
      break;
    }
    parts.push_back(
        {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}});
  }
  if (parts.empty() || parts.back()["type"] != "ByteLevel") {
    parts.push_back(byte_level_part(false));
  }
  return {{"type", "Sequence"}, {"pretokenizers", parts}};
}

}  // namespace

std::string tokenizer_json_of(const ByteLevelTokens& tokens, std::string_view where) {
  TokenIds ids;
  Json vocabulary = Json::object();
  for (size_t i = 0; i < tokens.tokens.size(); ++i) {
    const std::string& text = tokens.tokens[i].text;
    ids.emplace(text, static_cast<int64_t>(i));
    vocabulary[text] = i;
  }
  Json added = added_special_tokens(tokens.names, ids);
  add_symbols(tokens.tokens, ids, added);
  const Json document{{"added_tokens", added},
                      {"pre_tokenizer", cutting_by(tokens.expressions)},
                      {"post_processor", frame_processor(tokens.frame, tokens.names, "", ids, where)},
                      {"decoder", byte_level_part(true)},
                      {"model",
                       {{"type", "BPE"},
                        {"dropout", nullptr},
                        {"unk_token", nullptr},
                        {"continuing_subword_prefix", ""},
                        {"end_of_word_suffix", ""},
                        {"fuse_unk", false},
                        {"ignore_merges", tokens.ignore_merges},
                        {"vocab", std::move(vocabulary)},
                        {"merges", tokens.merges}}}};
  return write_document(document, where);
}

}  // namespace heed::huggingface
