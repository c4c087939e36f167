#include "heed/shortlist.h"

#include <algorithm>
#include <filesystem>

#include "base/system/clock.h"
#include "base/system/files.h"
#include "base/system/threads.h"
#include "checkpoint/model_directory.h"
#include "checkpoint/stored_model.h"
#include "checkpoint/stored_shortlist.h"
#include "data/corpus/lexical_table.h"

namespace heed {
namespace {

CorpusSide side_of_file(const std::string& file, const Tokenizer& tokenizer) {
  return {.files = {file},
          .encode = [&tokenizer](std::string_view line) { return tokenizer.encode(line); },
          .vocabulary = tokenizer.vocabulary_size()};
}

}  // namespace

ShortlistResult learn_shortlist(const ShortlistOptions& options) {
  const double begin = seconds_now();
  ThreadPool pool(thread_count(options.threads));
  const ModelFolder folder{options.model};
  require_architecture(folder, Architecture::seq2seq);
  const Tokenizers tokenizers = load_tokenizers(folder, load_description(folder));
  const auto pair = TranslationTokenizers::of(tokenizers);
  require_other_file(options.output, {options.source, options.target});
  const Corpus corpus =
      read_corpus({side_of_file(options.source, pair.source), side_of_file(options.target, pair.target)}, {}, pool);
  const ShortlistTable table = learn_shortlist(corpus, {.best = options.best, .frequent = options.frequent}, pool);
  save_shortlist(options.output, table, pair);
  ShortlistResult result{.text = corpus.report().text(), .pairs = std::ssize(table.targets)};
  for (size_t token = 0; token < table.ends.size(); ++token) {
    result.tokens += table.ends[token] > (token == 0 ? 0 : table.ends[token - 1]) ? 1 : 0;
  }
  std::error_code unknown;  // of a pipe
  const std::uintmax_t bytes = std::filesystem::file_size(options.output, unknown);
  result.bytes = unknown ? 0 : static_cast<int64_t>(bytes);
  result.seconds = seconds_now() - begin;
  return result;
}

}  // namespace heed
