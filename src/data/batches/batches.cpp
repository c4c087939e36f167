#include "data/batches/batches.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "data/batches/permutation.h"

namespace heed {
namespace {

constexpr int64_t kLargestPool = int64_t{1} << 31;

bool over(int64_t value, int64_t limit) { return limit > 0 && value > limit; }

uint64_t fingerprint(int64_t sentences, const BatchRules& rules, uint64_t seed, uint64_t data) {
  RandomKey key = RandomKey{seed}.derive(data).derive("batch stream");
  for (const int64_t number : {sentences, rules.target_tokens, rules.total_tokens, rules.sentences, rules.pool,
                               static_cast<int64_t>(rules.order)}) {
    key = key.derive(static_cast<uint64_t>(number));
  }
  return key.bits;
}

}  // namespace

void BatchRules::validate() const {
  require<ConfigError>(target_tokens >= 0 && total_tokens >= 0 && sentences >= 0, "batches",
                       "a limit of {} target tokens, {} tokens, {} sentences, expected 0 (none) or more", target_tokens,
                       total_tokens, sentences);
  require<ConfigError>(target_tokens > 0 || total_tokens > 0 || sentences > 0, "batches",
                       "no limit on tokens or sentences");
  require<ConfigError>(pool > 0 && pool <= kLargestPool, "batches", "pools of {} sentences, expected 1 to {}", pool,
                       kLargestPool);
  require<ConfigError>(sentences <= kLargestPool, "batches", "of {} sentences, expected at most {}", sentences,
                       kLargestPool);
}

BatchStream::BatchStream(int64_t sentences, SentenceLengths lengths, const BatchRules& rules, uint64_t seed,
                         uint64_t data)
    : sentences_(sentences), lengths_(std::move(lengths)), rules_(rules), seed_(seed) {
  rules.validate();
  require<ConfigError>(sentences > 0, "batches", "no sentences");
  const bool fixed = rules.sentences > 0 && rules.target_tokens == 0 && rules.total_tokens == 0;
  unit_ = fixed ? rules.sentences : 1;
  units_ = (sentences - 1) / unit_ + 1;
  pools_ = (units_ - 1) / std::max<int64_t>(1, rules.pool / unit_) + 1;
  position_.stream = fingerprint(sentences, rules, seed, data);
}

RandomKey BatchStream::key(int64_t epoch) const {
  return RandomKey{seed_}.derive("batches").derive(static_cast<uint64_t>(epoch));
}

// The sizes of pools differ by at most one unit, so that the last one is not small. If a batch is a number of
// sentences, the unit is a batch, so that only one batch of an epoch is smaller.
int64_t BatchStream::pool_begin(int64_t index) const {
  return std::min(sentences_, unit_ * (index * (units_ / pools_) + std::min(index, units_ % pools_)));
}

// The pool's sentences in the order in which they are divided into batches, with their lengths.
std::vector<BatchStream::Member> BatchStream::draw(int64_t epoch, int64_t index) const {
  const Permutation permuted(key(epoch).derive("sentences"), sentences_);
  const int64_t begin = pool_begin(index), end = pool_begin(index + 1);
  std::vector<Member> members;
  members.reserve(static_cast<size_t>(end - begin));
  for (int64_t position = begin; position < end; ++position) {
    const int64_t sentence = permuted(position);
    members.push_back({sentence, lengths_(sentence)});
  }
  if (rules_.order == PoolOrder::shuffled) {
    return members;
  }
  // One word each, which sorts several times as fast as the members: the length in the upper bits, then the index.
  std::vector<uint64_t> words;
  words.reserve(members.size());
  for (const Member& member : members) {
    words.push_back(static_cast<uint64_t>(member.rows.target) << 32 | words.size());
  }
  std::ranges::sort(words);
  std::vector<Member> sorted;
  sorted.reserve(members.size());
  for (const uint64_t word : words) {
    sorted.push_back(members[word & 0xffffffffU]);
  }
  return sorted;
}

// Where each batch begins and ends.
std::vector<BatchStream::Range> BatchStream::cut(const std::vector<Member>& members) const {
  const auto size = static_cast<int64_t>(members.size());
  std::vector<Range> cuts;
  SentenceRows filled;
  int64_t begin = 0;
  for (int64_t i = 0; i < size; ++i) {
    const SentenceRows& rows = members[static_cast<size_t>(i)].rows;
    const bool full = over(filled.target + rows.target, rules_.target_tokens) ||
                      over(filled.source + filled.target + rows.source + rows.target, rules_.total_tokens) ||
                      over(i - begin + 1, rules_.sentences);
    if (full && i > begin) {
      cuts.push_back({begin, i});
      begin = i;
      filled = {};
    }
    filled = {filled.source + rows.source, filled.target + rows.target};
  }
  cuts.push_back({begin, size});
  return cuts;
}

BatchStream::Pool BatchStream::plan(int64_t epoch, int64_t index) const {
  Pool pool{epoch, index, {}, {}};
  const std::vector<Member> members = draw(epoch, index);
  pool.sentences.reserve(members.size());
  for (const Member& member : members) {
    pool.sentences.push_back(member.sentence);
  }
  const std::vector<Range> cuts = cut(members);
  const Permutation turns(key(epoch).derive("turns").derive(static_cast<uint64_t>(index)),
                          static_cast<int64_t>(cuts.size()));
  for (int64_t turn = 0; turn < turns.size(); ++turn) {
    pool.batches.push_back(cuts[static_cast<size_t>(turns(turn))]);
  }
  return pool;
}

void BatchStream::plan_current() {
  if (pool_.epoch != position_.epoch || pool_.index != position_.pool) {
    pool_ = plan(position_.epoch, position_.pool);
  }
}

std::span<const int64_t> BatchStream::next() {
  plan_current();
  const Range range = pool_.batches[static_cast<size_t>(position_.batch)];
  if (++position_.batch == static_cast<int64_t>(pool_.batches.size())) {
    position_.batch = 0;
    position_.pool = (position_.pool + 1) % pools_;
    position_.epoch += position_.pool == 0 ? 1 : 0;
  }
  return std::span(pool_.sentences)
      .subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.end - range.begin));
}

void BatchStream::seek(const BatchPosition& position) {
  require<ConfigError>(position.stream == position_.stream, "batches",
                       "the position belongs to another corpus, seed or batch size");
  const bool inside = position.epoch >= 0 && position.pool >= 0 && position.pool < pools_ && position.batch >= 0;
  require<ConfigError>(inside, "batches", "there is no epoch {}, pool {}, batch {}", position.epoch, position.pool,
                       position.batch);
  Pool pool = plan(position.epoch, position.pool);
  require<ConfigError>(position.batch < static_cast<int64_t>(pool.batches.size()), "batches",
                       "pool {} of epoch {} has {} batches, expected more than {}", position.pool, position.epoch,
                       pool.batches.size(), position.batch);
  pool_ = std::move(pool);
  position_ = position;
}

}  // namespace heed
