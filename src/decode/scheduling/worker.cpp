#include "decode/scheduling/worker.h"

#include <algorithm>
#include <utility>

namespace heed {
namespace {

constexpr int64_t kMaxRequests = 64;    // of a worker at once
constexpr int64_t kMaxSequences = 128;  // of a worker at once
// This few requests wait for more beside this many.
constexpr int64_t kFew = 4, kMany = 8;

}  // namespace

bool Worker::has_room(const Call& call, int64_t share) {
  is_full_ = is_full_ && !has_emptied();
  if (is_full_ && std::ranges::find(members_, &call, &Member::call) != members_.end()) {
    return false;
  }
  const Request& request = *call.requests[call.next];
  RequestMemory::Need with_it = need();
  with_it += tools_.memory.need_of(request);
  const bool is_full =
      requests() >= kMaxRequests || sequences() >= kMaxSequences || (!idle() && !tools_.memory.fits(with_it));
  is_full_ = is_full_ || is_full;
  return !is_full && sequences() < share &&
         (joining_tokens_ == 0 || joining_tokens_ + std::ssize(request.source()) <= tools_.memory.max_source_tokens());
}

bool Worker::gathers(int64_t waiting) {
  const bool reads_sources = tools_.inference.model.config().architecture == Architecture::seq2seq;
  gathered_ = reads_sources && !gathered_ && waiting > 0 && waiting < kFew && requests() >= kMany;
  return gathered_;
}

bool Worker::has_emptied() const {
  return 2 * requests() <= kMaxRequests && 2 * sequences() <= kMaxSequences &&
         tools_.memory.fits(need(), RequestMemory::Share::three_quarters);
}

void Worker::take(Call& call, Request& request) {
  ended_.reserve(members_.size() + 1);  // so that their end needs no memory
  members_.push_back({.call = &call, .request = &request});
  joining_tokens_ += std::ssize(request.source());
}

void Worker::give_up(const std::exception_ptr& failure) {
  for (Member& member : members_) {
    member.call->failure = member.call->failure ? member.call->failure : failure;
  }
  look_at_calls();
}

void Worker::look_at_calls() {
  for (Member& member : members_) {
    member.given_up = member.call->failure != nullptr;
    member.interrupted = state_of(member.call->interruption);
  }
}

const std::vector<EndedRequest>& Worker::step() {
  ended_.clear();
  tokens_of_step_ = 0;
  try {
    interrupt();
    join();
    if (batch_ != nullptr && !batch_->empty()) {
      for (const auto& [request, failure] : batch_->step()) {
        end(*std::ranges::find(members_, request, &Member::request), failure);
      }
      tokens_of_step_ = batch_->tokens();
      last_step_ = std::chrono::steady_clock::now();
    }
    if (speculation_ != nullptr && !ended_.empty()) {
      speculation_->publish();
    }
  } catch (...) {
    fail(std::current_exception());
  }
  std::erase_if(members_, [](const Member& member) { return member.state == State::ended; });
  return ended_;
}

Worker::Use Worker::use() const {
  const CacheUse caches = stepper_ == nullptr ? CacheUse{} : stepper_->cache_use();
  return {sequences(), caches.used_pages, caches.free_pages, tokens_of_step_};
}

void Worker::forget() {
  if (prefixes_ != nullptr) {
    prefixes_->forget();
  }
}

int64_t Worker::sequences() const {
  int64_t sum = 0;
  for (const Member& member : members_) {
    sum += member.request->sequences();
  }
  return sum;
}

RequestMemory::Need Worker::need() const {
  RequestMemory::Need sum;
  for (const Member& member : members_) {
    sum += tools_.memory.need_of(*member.request);
  }
  return sum;
}

void Worker::interrupt() {
  for (Member& member : members_) {
    if (!member.given_up && member.interrupted == Interrupted::no) {
      continue;
    }
    if (member.state == State::running) {
      batch_->remove(*member.request);
    }
    std::exception_ptr failure;
    try {
      if (!member.given_up) {
        member.request->interrupt(member.interrupted);
      }
    } catch (...) {
      failure = std::current_exception();
    }
    end(member, failure);
  }
}

void Worker::join() {
  std::vector<RequestBatch::Joining> joining;
  for (const Member& member : members_) {
    if (member.state == State::joining) {
      joining.push_back({member.request, member.call->priority});
    }
  }
  joining_tokens_ = 0;
  if (joining.empty()) {
    return;
  }
  make_batch();
  std::exception_ptr no_room;
  try {
    batch_->join(joining);
  } catch (const BudgetError&) {
    no_room = std::current_exception();
  }
  for (Member& member : members_) {
    if (member.state == State::joining) {
      member.state = State::running;
      if (no_room) {
        end(member, no_room);
      }
    }
  }
}

void Worker::make_batch() {
  if (batch_ != nullptr) {
    return;
  }
  const Inference inference = tools_.inference.on(backend_);
  StepperOptions options = stepper_options(tools_.drafting);
  options.begin_with = tools_.memory.tokens_at_first();
  stepper_ = make_stepper(inference, options);
  if (tools_.prefix_bytes > 0 && has_prefixes(inference)) {
    auto sharing = std::make_unique<PrefixStepper>(std::move(stepper_), tools_.prefix_bytes, tools_.prefixes);
    prefixes_ = sharing.get();
    stepper_ = std::move(sharing);
  }
  speculation_ = make_speculation(tools_.drafting, inference, tools_.source);
  batch_ = std::make_unique<RequestBatch>(*stepper_, speculation_.get());
}

void Worker::end(Member& member, const std::exception_ptr& failure) {
  member.state = State::ended;
  ended_.push_back({member.call, member.request, failure});
}

// The stepper may be in any state now, so it is not used again.
void Worker::fail(const std::exception_ptr& failure) {
  for (Member& member : members_) {
    if (member.state != State::ended) {
      end(member, failure);
    }
  }
  batch_.reset();
  speculation_.reset();
  prefixes_ = nullptr;
  stepper_.reset();
}

}  // namespace heed
