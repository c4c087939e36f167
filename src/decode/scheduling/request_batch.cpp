#include "decode/scheduling/request_batch.h"

#include <algorithm>
#include <functional>

namespace heed {
namespace {

constexpr int64_t kLeastPart = 64;              // tokens of prompts in each step, however much the others read
constexpr size_t kShort = kMaxDraftTokens + 1;  // the most that a text reads in a step while it is being written

}  // namespace

void RequestBatch::join(std::span<Request* const> requests) {
  std::vector<Joining> joining;
  joining.reserve(requests.size());
  for (Request* const request : requests) {
    joining.push_back({request});
  }
  join(joining);
}

void RequestBatch::join(std::span<const Joining> joining) {
  if (joining.empty()) {
    return;
  }
  std::vector<std::vector<int32_t>> sources;
  sources.reserve(joining.size());
  for (const auto& [request, priority] : joining) {
    sources.emplace_back(request->source().begin(), request->source().end());
  }
  const std::vector<SequenceId> sequences = context_.stepper.begin(sources);
  std::vector<Candidates> candidates;
  for (size_t i = 0; i < joining.size(); ++i) {
    if (!joining[i].request->candidates().empty()) {
      candidates.push_back({sequences[i], joining[i].request->candidates()});
    }
  }
  if (!candidates.empty()) {
    context_.stepper.restrict_to(candidates);
  }
  for (size_t i = 0; i < joining.size(); ++i) {
    joining[i].request->begin(context_, sequences[i]);
    members_.push_back({.request = joining[i].request, .priority = joining[i].priority, .prompt = {}});
  }
  std::ranges::stable_sort(members_, std::greater(), &Member::priority);
}

void RequestBatch::remove(Request& request) {
  request.leave();
  std::erase_if(members_, [&](const Member& member) { return member.request == &request; });
}

const std::vector<RequestBatch::Ended>& RequestBatch::step() {
  ended_.clear();
  begin_drafts();
  list_new_tokens();
  give_rows(context_.stepper.next(new_tokens_));
  return ended_;
}

void RequestBatch::begin_drafts() {
  tasks_.clear();
  int64_t others = 0;
  for (Member& member : members_) {
    const size_t before = tasks_.size();
    if (!member.prompt) {
      member.request->add_drafts(tasks_);
    }
    others += tasks_.size() == before ? 1 : 0;
  }
  if (context_.speculation != nullptr) {
    context_.speculation->begin_step(tasks_, others);
  }
}

// First the requests that read little, then parts of prompts, in the order of the members.
void RequestBatch::list_new_tokens() {
  new_tokens_.clear();
  tokens_ = rows_ = 0;
  for (Member& member : members_) {
    member.first_row = rows_;
    member.rows = 0;
    if (member.prompt) {
      continue;
    }
    asked_.clear();
    member.request->add_new_tokens(asked_);
    if (asked_.size() == 1 && asked_.front().wanted == RowsWanted::last && asked_.front().tokens.size() > kShort) {
      member.prompt = asked_.front();
      continue;
    }
    for (const NewTokens& new_tokens : asked_) {
      add(member, new_tokens);
    }
  }
  const int64_t limit = std::max(kStepTokens, tokens_ + kLeastPart);
  for (Member& member : members_) {
    if (member.prompt && tokens_ < limit) {
      list_part(member, limit - tokens_);
    }
  }
}

void RequestBatch::list_part(Member& member, int64_t most) {
  const std::span<const int32_t> left = member.prompt->tokens;
  const int64_t known = context_.stepper.known_tokens(member.prompt->sequence, left);
  const size_t part = std::min(left.size(), static_cast<size_t>(known + most));
  tokens_ -= known;
  member.first_row = rows_;
  if (part == left.size()) {
    add(member, *member.prompt);
    member.prompt.reset();
  } else {
    add(member, {member.prompt->sequence, left.first(part), RowsWanted::none});
    member.prompt->tokens = left.subspan(part);
  }
}

void RequestBatch::add(Member& member, const NewTokens& new_tokens) {
  const auto tokens = static_cast<int64_t>(new_tokens.tokens.size());
  const int64_t rows = new_tokens.wanted == RowsWanted::all ? tokens : new_tokens.wanted == RowsWanted::last ? 1 : 0;
  new_tokens_.push_back(new_tokens);
  tokens_ += tokens;
  member.rows += rows;
  rows_ += rows;
}

void RequestBatch::give_rows(const NextTokens& next) {
  int64_t written = 0;
  for (const Member& member : members_) {
    if (member.rows == 0) {
      continue;
    }
    try {
      written += member.request->take(next, member.first_row);
      if (member.request->done()) {
        ended_.push_back({member.request, nullptr});
      }
    } catch (...) {
      member.request->leave();
      ended_.push_back({member.request, std::current_exception()});
    }
  }
  std::erase_if(members_, [&](const Member& member) {
    return std::ranges::find(ended_, member.request, &Ended::request) != ended_.end();
  });
  if (context_.speculation != nullptr) {
    context_.speculation->end_step(written);
  }
}

void run_together(Stepper& stepper, std::span<Request* const> requests, Speculation* speculation) {
  RequestBatch batch(stepper, speculation);
  batch.join(requests);
  std::exception_ptr failure;
  while (!batch.empty()) {
    for (const RequestBatch::Ended& ended : batch.step()) {
      failure = failure ? failure : ended.failure;
    }
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace heed
