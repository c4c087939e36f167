#include "data/batches/pair_batch.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "data/lines/origins.h"

namespace heed {
namespace {

void check(const Corpus& corpus, const SentenceMarks& special) {
  require(corpus.sides() == 2, "pairs", "a corpus of {} sides, expected 2", corpus.sides());
  const auto within = [](int32_t id, const TokenStore& side, std::string_view name) {
    require(id >= 0 && id < side.vocabulary(), "pairs", "{} is {} in a vocabulary of {}", name, id, side.vocabulary());
  };
  within(special.begin.value, corpus.target(), "the beginning of a target");
  within(special.end.value, corpus.target(), "the end of a target");
  for (const int32_t id : special.before_source) {
    within(id, corpus.source(), "the beginning of a source");
  }
  for (const int32_t id : special.after_source) {
    within(id, corpus.source(), "the end of a source");
  }
  for (const int32_t id : special.before_target) {
    within(id, corpus.target(), "the beginning of a target");
  }
}

std::vector<int32_t> tokens_of(const TokenStore& side, int64_t sentence, const TokenChange& change) {
  std::vector<int32_t> tokens;
  side.read(sentence, tokens);
  if (change) {
    change(sentence, tokens);
  }
  return tokens;
}

void append(const std::vector<int32_t>& tokens, std::vector<int32_t>& all) {
  all.insert(all.end(), tokens.begin(), tokens.end());
}

}  // namespace

SentenceLengths pair_lengths(const Corpus& corpus, const SentenceMarks& special) {
  check(corpus, special);
  const int64_t source_specials = std::ssize(special.before_source) + std::ssize(special.after_source);
  const int64_t target_specials = std::ssize(special.before_target) + 1;
  return [&corpus, source_specials, target_specials](int64_t sentence) {
    return SentenceRows{corpus.source().length(sentence) + source_specials,
                        corpus.target().length(sentence) + target_specials};
  };
}

PairBatch make_pairs(const Corpus& corpus, std::span<const int64_t> sentences, const SentenceMarks& special,
                     const PairChanges& changes, FirstRows first) {
  check(corpus, special);
  std::vector<int32_t> sources, inputs, expected;
  std::vector<int64_t> source_lengths, target_lengths;
  for (const int64_t sentence : sentences) {
    const auto source_begin = std::ssize(sources), target_begin = std::ssize(inputs);
    append(special.before_source, sources);
    append(tokens_of(corpus.source(), sentence, changes.source), sources);
    append(special.after_source, sources);
    source_lengths.push_back(std::ssize(sources) - source_begin);

    std::vector<int32_t> target = special.before_target;
    append(tokens_of(corpus.target(), sentence, changes.target), target);
    inputs.push_back(special.begin.value);
    append(target, inputs);
    append(target, expected);
    expected.push_back(special.end.value);
    target_lengths.push_back(std::ssize(inputs) - target_begin);
  }
  return {SourceSequences(std::move(sources), Segments(source_lengths, first.source)),
          TargetSequences(std::move(inputs), Segments(target_lengths, first.target)), Targets(std::move(expected))};
}

std::string describe_origins(const Corpus& corpus, std::span<const int64_t> sentences) {
  return first_origins(sentences, [&](int64_t sentence) { return corpus.where(sentence); });
}

std::string list_origins(const Corpus& corpus, std::span<const int64_t> sentences) {
  return all_origins(sentences, [&](int64_t sentence) { return corpus.where(sentence); });
}

}  // namespace heed
