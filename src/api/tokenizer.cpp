#include "heed/tokenizer.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "base/errors.h"
#include "text/tokenizer_training.h"
#include "text/unicode.h"

namespace heed {
namespace {

// The lines of one text file after the other. An end of "\r\n" counts as "\n".
class TextLines {
 public:
  explicit TextLines(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  bool next(std::string& line) {
    while (!read(line)) {
      if (file_ == paths_.size()) {
        return false;
      }
      open(paths_[file_++]);
    }
    ++number_;
    if (line.ends_with('\r')) {
      line.pop_back();
    }
    const std::optional<size_t> invalid = find_invalid_utf8(line);
    require<FormatError>(!invalid, where(), "byte {} of the line is not UTF-8", invalid.value_or(0));
    return true;
  }

  std::string where() const { return fmt::format("{}:{}", name_, number_); }

 private:
  bool read(std::string& line) {
    if (stream_ == nullptr) {
      return false;
    }
    const bool got = static_cast<bool>(std::getline(*stream_, line));
    require<IoError>(!stream_->bad(), name_, "cannot read: {}", std::strerror(errno));
    return got;
  }

  void open(const std::string& path) {
    number_ = 0;
    name_ = path == "-" ? "standard input" : path;
    stream_ = &std::cin;
    if (path != "-") {
      opened_ = std::ifstream(path, std::ios::binary);
      require<IoError>(opened_.is_open(), path, "cannot open: {}", std::strerror(errno));
      // A folder opens, and fails when it is read.
      opened_.peek();
      require<IoError>(!opened_.bad(), path, "cannot read: {}", std::strerror(errno));
      opened_.clear();
      stream_ = &opened_;
    }
  }

  std::vector<std::string> paths_;
  size_t file_ = 0;
  std::ifstream opened_;
  std::istream* stream_ = nullptr;
  std::string name_;
  int64_t number_ = 0;
};

TokenizerSummary summarize(const Tokenizer& tokenizer) {
  TokenizerSummary summary{.kind = std::string(name_of(tokenizer.kind())),
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

TokenizerSummary train_tokenizer(const TokenizerTrainingOptions& options, const std::string& output) {
  const TokenizerTraining training{
      .kind = parse_tokenizer_kind(options.kind),
      .vocabulary = options.vocabulary,
      .normalization = parse_normalization(options.normalization),
      .special = {.pad = options.pad, .unk = options.unk, .bos = options.bos, .eos = options.eos, .sep = options.sep},
      .user_symbols = options.user_symbols,
      .minimum_count = options.minimum_count,
      .coverage = options.coverage,
  };
  TextLines lines(options.inputs);
  const auto tokenizer = train_tokenizer(training, [&](std::string& line) { return lines.next(line); });
  save_tokenizer(*tokenizer, output);
  return summarize(*tokenizer);
}

struct LoadedTokenizer::State {
  std::unique_ptr<Tokenizer> tokenizer;

  // The id of bos or eos, if one is asked for.
  std::vector<TokenId> edge(EncodingOptions::Edge edge, TokenId id, const char* name) const {
    if (edge == EncodingOptions::Edge::bare) {
      return {};
    }
    require<ConfigError>(id != kNoToken, "tokenizer", "it has no {}", name);
    return {id};
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
  const TooLong policy = parse_too_long(options.too_long);
  std::optional<std::vector<TokenId>> tokens = tokenizer.encode(text);
  if (options.longest) {
    const auto edges = static_cast<int64_t>(begin.size() + end.size());
    require<ConfigError>(*options.longest >= edges, "length", "at most {} tokens, expected {} or more",
                         *options.longest, edges);
    tokens = limit_length(std::move(*tokens), {.longest = *options.longest - edges, .policy = policy}, where);
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
  const int64_t vocabulary = state_->tokenizer->vocabulary_size();
  std::vector<TokenId> ids;
  ids.reserve(tokens.size());
  for (const int32_t token : tokens) {
    require<FormatError>(token >= 0 && token < vocabulary, where, "token {} is outside the vocabulary of {}", token,
                         vocabulary);
    ids.emplace_back(token);
  }
  return state_->tokenizer->decode(ids);
}

std::string LoadedTokenizer::piece(int32_t token) const {
  return std::string(state_->tokenizer->piece(TokenId(token)));
}

int32_t LoadedTokenizer::token(std::string_view piece, std::string_view where) const {
  const std::optional<TokenId> token = state_->tokenizer->find(piece);
  require<FormatError>(token.has_value(), where, "the piece '{}' is not in the vocabulary", piece);
  return token->value;
}

void read_lines(const std::string& path,
                const std::function<void(std::string_view line, const std::string& where)>& use) {
  TextLines lines({path});
  for (std::string line; lines.next(line);) {
    use(line, lines.where());
  }
}

}  // namespace heed
