#include "decode/steppers/encoder_decoder_stepper.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "ops/rows/select_rows.h"

namespace heed {
namespace {

// In smaller groups a hypothesis is multiplied by fewer rows that it does not need, but products of few hypotheses take
// longer for each.
constexpr size_t kGroupSources = 64;

}  // namespace

EncoderDecoderStepper::EncoderDecoderStepper(const Inference& inference, const StepperOptions& options)
    : PagedStepper(inference, options),
      model_(inference.model.seq2seq()),
      memory_(inference.backend, pool_, cache_shape(config_, options)) {}

std::vector<SequenceId> EncoderDecoderStepper::begin(std::span<const std::vector<int32_t>> sources) {
  if (sources.empty()) {
    return {};
  }
  drop_results();
  std::vector<Continuation> tokens;
  std::vector<Extension> extensions;
  for (const std::vector<int32_t>& source : sources) {
    tokens.push_back({source, 0});
    extensions.push_back({memory_.add(), static_cast<int64_t>(source.size())});
  }
  try {
    const SourceSequences batch(Sequences::continuing(tokens));
    const MemoryCaches caches(memory_.extend(extensions));
    model_.cache_memory(pass_, model_.encode(pass_, batch), caches);
  } catch (...) {
    for (const Extension& extension : extensions) {
      memory_.remove(extension.sequence);
    }
    throw;
  }
  std::vector<SequenceId> sequences;
  for (const Extension& extension : extensions) {
    if (free_sources_.empty()) {
      free_sources_.push_back(sources_.size());
      sources_.emplace_back();
    }
    const SequenceId sequence = sequences.emplace_back(cache_.add());
    source_numbers_[sequence.value] = free_sources_.back();
    sources_[free_sources_.back()] = {extension.sequence, 1};
    free_sources_.pop_back();
  }
  return sequences;
}

void EncoderDecoderStepper::restrict_to(std::span<const Candidates> candidates) {
  for (; !candidates.empty(); candidates = candidates.subspan(std::min(candidates.size(), kGroupSources))) {
    gather(candidates.first(std::min(candidates.size(), kGroupSources)));
  }
}

void EncoderDecoderStepper::gather(std::span<const Candidates> group) {
  constexpr int32_t kNotThere = -1;
  column_of_token_.assign(static_cast<size_t>(vocabulary()), kNotThere);
  int64_t all = 0;
  for (const auto& [sequence, tokens] : group) {
    ensure(!tokens.empty() && tokens.front() >= 0 && tokens.back() < vocabulary() &&
               std::ranges::is_sorted(tokens, std::less_equal()),
           "stepper", "the candidates of sequence {} are none, not in order, or outside the vocabulary",
           sequence.value);
    for (const int32_t token : tokens) {
      column_of_token_[static_cast<size_t>(token)] = 0;
    }
    all += std::ssize(tokens);
  }
  std::vector<int32_t> rows;
  for (int32_t token = 0; token < static_cast<int32_t>(vocabulary()); ++token) {
    if (int32_t& column = column_of_token_[static_cast<size_t>(token)]; column != kNotThere) {
      column = static_cast<int32_t>(rows.size());
      rows.push_back(token);
    }
  }
  const auto shared =
      std::make_shared<CandidateGroup>(CandidateGroup{model_.output().rows(pass_, rows), Tensor({all}, DType::i32)});
  int32_t* const columns = shared->columns.data<int32_t>();
  int32_t end = 0;
  for (const auto& [sequence, tokens] : group) {
    Source& source = sources_[source_numbers_.at(sequence.value)];
    source.group = shared;
    source.begin = end;
    for (const int32_t token : tokens) {
      columns[end++] = column_of_token_[static_cast<size_t>(token)];
    }
    source.end = end;
  }
}

SequenceId EncoderDecoderStepper::fork(SequenceId sequence) {
  const SequenceId child = cache_.fork(sequence);
  const size_t source = source_numbers_.at(sequence.value);
  source_numbers_[child.value] = source;
  ++sources_[source].readers;
  return child;
}

void EncoderDecoderStepper::remove(SequenceId sequence) {
  cache_.remove(sequence);
  const auto number = source_numbers_.find(sequence.value);
  Source& source = sources_[number->second];
  if (--source.readers == 0) {
    memory_.remove(source.id);
    source.group = nullptr;
    free_sources_.push_back(number->second);
  }
  source_numbers_.erase(number);
}

// Neighbours with the same source form one group of queries: attention reads the source's keys and values once for all.
Hidden EncoderDecoderStepper::hidden(const Sequences& tokens, std::span<const Extension> sequences,
                                     const std::vector<KeyValueView>& caches) {
  read_.clear();
  queries_.clear();
  for (const Extension& extension : sequences) {
    const SequenceId source = source_of(extension.sequence).id;
    if (read_.empty() || read_.back() != source) {
      read_.push_back(source);
      queries_.push_back(0);
    }
    queries_.back() += extension.tokens;
  }
  const Segments queries(queries_);
  return model_.decode_next(pass_, TargetSequences(tokens),
                            {TargetCaches(caches), MemoryCaches(memory_.view(read_)), queries});
}

Logits EncoderDecoderStepper::logits(const Hidden& hidden) { return model_.logits(pass_, hidden); }

int64_t EncoderDecoderStepper::columns_of_candidates(std::span<const NewTokens> new_tokens) const {
  int64_t most = 0;
  bool over_all = false;
  for (const NewTokens& f : new_tokens) {
    const Source& source = source_of(f.sequence);
    most = std::max<int64_t>(most, source.end - source.begin);
    over_all = over_all || source.group == nullptr;
  }
  return most > 0 && over_all ? vocabulary() : most;
}

// Neighbours of one group are multiplied together.
void EncoderDecoderStepper::write_log_probs(const Hidden& hidden, std::span<const SequenceId> sequences,
                                            View log_probs) {
  const auto group_of = [&](size_t row) { return source_of(sequences[row]).group.get(); };
  for (size_t first = 0, end = 0; first < sequences.size(); first = end) {
    const CandidateGroup* const group = group_of(first);
    for (end = first + 1; end < sequences.size() && group_of(end) == group;) {
      ++end;
    }
    const auto begin = static_cast<int64_t>(first), count = static_cast<int64_t>(end - first);
    const View to = log_probs.row_range(begin, count);
    if (group == nullptr) {
      std::vector<int32_t> rows(end - first);
      std::iota(rows.begin(), rows.end(), static_cast<int32_t>(first));
      write_over_all(hidden, rows, to);
    } else {
      write_over_candidates(*group, hidden.var().value().row_range(begin, count), sequences.subspan(first, end - first),
                            to);
    }
  }
}

void EncoderDecoderStepper::write_over_all(const Hidden& hidden, std::span<const int32_t> rows, View log_probs) {
  const Logits over_all = logits(Hidden(select_rows(pass_, hidden.var(), rows)));
  backend().log_softmax(over_all.var().value(), log_probs);
}

void EncoderDecoderStepper::write_over_candidates(const CandidateGroup& group, ConstView hidden,
                                                  std::span<const SequenceId> sequences, View log_probs) {
  begins_.clear();
  ends_.clear();
  for (const SequenceId sequence : sequences) {
    begins_.push_back(source_of(sequence).begin);
    ends_.push_back(source_of(sequence).end);
  }
  log_softmax(pass_, model_.output().logits(pass_, hidden, group.rows), {group.columns.view(), begins_, ends_},
              log_probs);
}

}  // namespace heed
