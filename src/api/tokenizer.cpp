#include "heed/tokenizer.h"

#include "base/errors.h"
#include "base/system/files.h"
#include "data/lines/line_reader.h"
#include "text/tokenizer_trace.h"
#include "text/tokenizer_training.h"
#include "text/unicode/text_origins.h"

namespace heed {
namespace {

TokenizerSummary summarize(const Tokenizer& tokenizer) {
  TokenizerSummary summary{.kind = tokenizer.kind(),
                           .normalization = tokenizer.normalization(),
                           .vocabulary = tokenizer.vocabulary_size(),
                           .special = {}};
  const auto add = [&](const char* role, TokenId id) {
    summary.special.push_back({role, id == kNoToken ? "" : std::string(tokenizer.piece(id)), id.value});
  };
  const SpecialTokens& special = tokenizer.special();
  add("pad", special.pad);
  add("unk", special.unk);
  add("bos", special.bos);
  add("eos", special.eos);
  add("sep", special.sep);
  return summary;
}

}  // namespace

TokenizerSummary train_tokenizer(const TokenizerTraining& training, const TokenizerFiles& files) {
  require_other_file(files.output, files.inputs);
  const std::vector<std::filesystem::path> inputs(files.inputs.begin(), files.inputs.end());
  LinesOfFiles lines(inputs);
  const auto tokenizer = train_tokenizer(
      training, [&](std::string& line) { return lines.next(line); }, names_of(inputs));
  save_tokenizer(*tokenizer, files.output);
  return summarize(*tokenizer);
}

struct LoadedTokenizer::State {
  std::unique_ptr<Tokenizer> tokenizer;

  // The id of bos or eos, if requested.
  std::vector<TokenId> edge(EncodingOptions::Edge edge, TokenId id, const char* name) const {
    if (edge == EncodingOptions::Edge::bare) {
      return {};
    }
    require<ConfigError>(id != kNoToken, "tokenizer", "it has no {}", name);
    return {id};
  }

  // FormatError for a number that no token has.
  TokenId token(int32_t number, std::string_view where) const {
    const int64_t vocabulary = tokenizer->vocabulary_size();
    require<FormatError>(number >= 0 && number < vocabulary, where, "token {} is outside the vocabulary of {}", number,
                         vocabulary);
    return TokenId(number);
  }
};

LoadedTokenizer::LoadedTokenizer(const std::string& path) : state_(new State{load_tokenizer(path)}) {}
LoadedTokenizer::~LoadedTokenizer() = default;
LoadedTokenizer::LoadedTokenizer(LoadedTokenizer&& other) noexcept = default;
LoadedTokenizer& LoadedTokenizer::operator=(LoadedTokenizer&& other) noexcept = default;

TokenizerSummary LoadedTokenizer::summary() const { return summarize(*state_->tokenizer); }

std::optional<std::vector<int32_t>> LoadedTokenizer::encode(std::string_view text, const EncodingOptions& options,
                                                            std::string_view where) const {
  const Tokenizer& tokenizer = *state_->tokenizer;
  const std::vector<TokenId> begin = state_->edge(options.begin, tokenizer.special().bos, "bos");
  const std::vector<TokenId> end = state_->edge(options.end, tokenizer.special().eos, "eos");
  std::optional<std::vector<TokenId>> tokens = tokenizer.encode(text);
  if (options.max_length) {
    const auto edges = static_cast<int64_t>(begin.size() + end.size());
    require<ConfigError>(*options.max_length >= edges, "length", "at most {} tokens, expected {} or more",
                         *options.max_length, edges);
    tokens = limit_length(std::move(*tokens), {.max_length = *options.max_length - edges, .too_long = options.too_long},
                          where);
  }
  if (!tokens) {
    return std::nullopt;
  }
  std::vector<int32_t> ids;
  ids.reserve(begin.size() + tokens->size() + end.size());
  const auto append = [&](const std::vector<TokenId>& part) {
    for (const TokenId token : part) {
      ids.push_back(token.value);
    }
  };
  append(begin);
  append(*tokens);
  append(end);
  return ids;
}

std::string LoadedTokenizer::decode(std::span<const int32_t> tokens, std::string_view where) const {
  std::vector<TokenId> ids;
  ids.reserve(tokens.size());
  for (const int32_t token : tokens) {
    ids.push_back(state_->token(token, where));
  }
  return state_->tokenizer->decode(ids);
}

std::vector<TokenOffsets> LoadedTokenizer::offsets(std::string_view text) const {
  return characters_of(text, state_->tokenizer->origins(text));
}

TokenizerTrace LoadedTokenizer::trace(std::string_view text) const { return trace_of(*state_->tokenizer, text); }

std::string LoadedTokenizer::piece(int32_t token) const {
  return std::string(state_->tokenizer->piece(state_->token(token, "tokens")));
}

int32_t LoadedTokenizer::token(std::string_view piece, std::string_view where) const {
  const std::optional<TokenId> token = state_->tokenizer->find(piece);
  require<FormatError>(token.has_value(), where, "the piece '{}' is not in the vocabulary", piece);
  return token->value;
}

}  // namespace heed
