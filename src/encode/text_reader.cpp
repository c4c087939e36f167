#include "encode/text_reader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/rounding.h"
#include "encode/reading_rows.h"
#include "kernels/host_copy.h"

namespace heed {
namespace {

// A batch of kBatchTokens leaves what passes from op to op in a core's cache. Where texts are few, all threads work on
// one batch of up to kMostTokens.
constexpr int64_t kBatchTokens = 512, kFewestTokens = 256, kMostTokens = 2048;
constexpr double kUneven = 1.1;  // the busiest lane's tokens over the mean

using Batches = std::vector<std::vector<size_t>>;

int64_t tokens_of(std::span<const EncodedText> texts, std::span<const size_t> some) {
  int64_t tokens = 0;
  for (const size_t i : some) {
    tokens += std::ssize(texts[i].ids);
  }
  return tokens;
}

std::vector<size_t> longest_first(std::span<const EncodedText> texts) {
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return texts[i].ids.size(); });
  return order;
}

// In this order, each closed when it has `full` tokens.
Batches cut_into_batches(std::span<const EncodedText> texts, std::span<const size_t> order, int64_t full) {
  Batches batches;
  int64_t tokens = 0;
  for (const size_t i : order) {
    if (batches.empty() || tokens >= full) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(i);
    tokens += std::ssize(texts[i].ids);
  }
  return batches;
}

// Whether lanes that take the batches in turn have about equally much to do.
bool are_even(std::span<const EncodedText> texts, const Batches& batches, int64_t lanes) {
  std::vector<int64_t> loads(static_cast<size_t>(lanes), 0);
  int64_t all = 0;
  for (const std::vector<size_t>& batch : batches) {
    const int64_t tokens = tokens_of(texts, batch);
    *std::ranges::min_element(loads) += tokens;
    all += tokens;
  }
  return static_cast<double>(std::ranges::max(loads) * lanes) <= kUneven * static_cast<double>(all);
}

// The batches of a call that is alone, of similar lengths, longest first: as many of one size as keep all lanes busy to
// the end.
Batches batches_alone(std::span<const EncodedText> texts, int64_t lanes) {
  const std::vector<size_t> order = longest_first(texts);
  const int64_t all = tokens_of(texts, order);
  const int64_t in_all = lanes * ((all + lanes * kBatchTokens - 1) / (lanes * kBatchTokens));
  Batches batches = cut_into_batches(texts, order, (all + in_all - 1) / std::max<int64_t>(1, in_all));
  const bool few = all < lanes * kFewestTokens || (all <= kMostTokens && !are_even(texts, batches, lanes));
  return few ? cut_into_batches(texts, order, kMostTokens) : batches;
}

}  // namespace

TextReader::TextReader(const AnyModel& model, DType storage, Backend& backend)
    : model_(model), storage_(storage), lanes_(backend, [this](size_t, Backend& lane) { return take_turn(lane); }) {}

void TextReader::read(std::span<const EncodedText> texts, const Reading& reading, const Take& take,
                      const ReadingOptions& options) {
  if (texts.empty()) {
    return;
  }
  if (options.on_tokens) {
    int64_t tokens = 0;
    for (const EncodedText& text : texts) {
      tokens += std::ssize(text.ids);
    }
    options.on_tokens(tokens);
  }
  Call call{
      .texts = texts, .reading = reading, .take = take, .interruption = options.interruption, .left = texts.size()};
  std::unique_lock lock(mutex_);
  const bool alone = workload_.waiting + workload_.running == 0;
  call.batches =
      alone ? batches_alone(texts, lanes_.count()) : cut_into_batches(texts, longest_first(texts), kBatchTokens);
  waiting_.add(call, options.sharing);
  workload_.waiting += std::ssize(texts);
  for (const Texts& batch : call.batches) {
    waiting_tokens_ += tokens_of(texts, batch);
  }
  const bool takes_turns = alone && call.batches.size() == 1;
  lock.unlock();
  try {
    lanes_.turn_until(*call.ended, takes_turns ? Lanes::Caller::takes_turns : Lanes::Caller::waits, lanes_.count());
  } catch (...) {  // there can be no thread for it
    fail(std::current_exception(), &call);
    call.ended->wait();
  }
  if (call.failure) {
    std::rethrow_exception(call.failure);
  }
  require_uninterrupted(call.interrupted, "reading");
}

Workload TextReader::workload() const {
  const std::lock_guard lock(mutex_);
  return workload_;
}

// Reads one batch.
bool TextReader::take_turn(Backend& backend) {
  std::vector<CallBatch> taken;
  try {
    taken = begin_batch();
  } catch (...) {  // there is no memory
    fail(std::current_exception());
  }
  if (taken.empty()) {
    return false;
  }
  try {
    run(taken, backend);
  } catch (...) {
    for (CallBatch& one : taken) {
      one.failure = std::current_exception();
    }
  }
  EndedCalls calls;
  const std::lock_guard lock(mutex_);
  std::ranges::for_each(taken, [&](const CallBatch& one) { end(one, calls); });
  return !waiting_.empty();
}

// Calls that end before it need not wait for it.
std::vector<TextReader::CallBatch> TextReader::begin_batch() {
  EndedCalls calls;
  const std::lock_guard lock(mutex_);
  drop_ended_calls(calls);
  return next_batch();
}

// Nobody reads what is left of a call that is interrupted or has failed.
void TextReader::drop_ended_calls(EndedCalls& calls) {
  waiting_.remove_if([&](Call& call) {
    call.interrupted = state_of(call.interruption);
    if (call.interrupted == Interrupted::no && !call.failure) {
      return false;
    }
    withdraw(call, calls);
    return true;
  });
}

// What nobody has of a call is not going to be read. The call is no longer in the queue.
void TextReader::withdraw(Call& call, EndedCalls& calls) {
  for (; call.next < call.batches.size(); ++call.next) {
    const Texts& batch = call.batches[call.next];
    waiting_tokens_ -= tokens_of(call.texts, batch);
    workload_.waiting -= std::ssize(batch);
    call.left -= batch.size();
  }
  if (call.left == 0) {
    calls.add(call.ended);
  }
}

void TextReader::fail(const std::exception_ptr& failure, const Call* only) {
  EndedCalls calls;
  const std::lock_guard lock(mutex_);
  waiting_.remove_if([&](Call& call) {
    const bool fails = only == nullptr || only == &call;
    if (fails) {
      call.failure = call.failure ? call.failure : failure;
      withdraw(call, calls);
    }
    return fails;
  });
}

// A batch of the call whose turn it is; then, as long as it has fewer tokens than a lane's share of all, those of the
// calls that come next.
std::vector<TextReader::CallBatch> TextReader::next_batch() {
  std::vector<CallBatch> taken;
  const int64_t share = ceil_div(waiting_tokens_, lanes_.count());
  const int64_t most = std::clamp(share, kFewestTokens, kBatchTokens);
  taken.reserve(static_cast<size_t>(most));  // each has a token at least
  int64_t tokens = 0;
  while (!waiting_.empty() && taken.size() < taken.capacity()) {
    Call& call = waiting_.next();
    const Texts& batch = call.batches[call.next];
    const int64_t more = tokens_of(call.texts, batch);
    if (!taken.empty() && (tokens + more > most || call.reading != taken.front().call->reading)) {
      break;
    }
    taken.push_back({.call = &call, .texts = &batch});
    tokens += more;
    waiting_tokens_ -= more;
    workload_.waiting -= std::ssize(batch);
    workload_.running += std::ssize(batch);
    waiting_.end_turn(++call.next < call.batches.size() ? FairQueue<Call>::After::waits
                                                        : FairQueue<Call>::After::leaves);
  }
  if (tokens > 0) {
    workload_.count_step(tokens);
  }
  return taken;
}

void TextReader::run(std::span<CallBatch> taken, Backend& backend) const {
  std::vector<const EncodedText*> batch;
  for (const CallBatch& one : taken) {
    std::ranges::transform(*one.texts, std::back_inserter(batch), [&](size_t i) { return &one.call->texts[i]; });
  }
  const Reading& reading = taken.front().call->reading;
  Pass pass = Pass::infer(backend, storage_);
  const SourceSequences sequences(sequences_of(batch, model_.config().token_types));
  const Var result = reading_rows(pass, model_, sequences, batch, reading);
  const HostCopy on_host(backend, result.value());
  int64_t row = 0;
  for (CallBatch& one : taken) {
    for (const size_t i : *one.texts) {
      const int64_t rows = rows_of_reading(one.call->texts[i], reading);
      try {
        one.call->take(i, on_host.view().row_range(row, rows));
      } catch (...) {
        one.failure = std::current_exception();
      }
      row += rows;
    }
  }
}

void TextReader::end(const CallBatch& batch, EndedCalls& calls) {
  Call& call = *batch.call;
  workload_.running -= std::ssize(*batch.texts);
  call.failure = call.failure ? call.failure : batch.failure;
  call.left -= batch.texts->size();
  if (call.left == 0) {
    calls.add(call.ended);
  }
}

}  // namespace heed
