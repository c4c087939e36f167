#include "serve/http/exchange.h"

#include <utility>

namespace heed::serve {

namespace {

constexpr unsigned kClientGone = 499;

}  // namespace

Exchange::~Exchange() {
  if (when_over_) {
    when_over_(*this);
  }
}

bool Exchange::has_begun() const {
  const std::lock_guard lock(mutex_);
  return status_ != 0;
}

bool Exchange::is_dropped() const {
  const std::lock_guard lock(mutex_);
  return is_dropped_;
}

unsigned Exchange::status() const {
  const std::lock_guard lock(mutex_);
  return gone_.stop_requested() && !is_cut_off_ ? kClientGone : status_;
}

void Exchange::cut_off() {
  is_cut_off_ = true;
  gone_.request_stop();
}

void Exchange::add_headers(std::vector<HttpHeader> headers) {
  const std::lock_guard lock(mutex_);
  headers_ = std::move(headers);
}

void Exchange::answer(HttpAnswer answer) {
  {
    const std::lock_guard lock(mutex_);
    if (status_ != 0) {
      return;
    }
    status_ = answer.status;
    answer.headers.insert(answer.headers.end(), headers_.begin(), headers_.end());
    head_ = std::move(answer);
    is_whole_ = is_ended_ = true;
  }
  wake();
}

void Exchange::begin(HttpAnswer head) {
  {
    const std::lock_guard lock(mutex_);
    if (status_ != 0) {
      return;
    }
    status_ = head.status;
    head.headers.insert(head.headers.end(), headers_.begin(), headers_.end());
    waiting_ = std::exchange(head.body, "");
    head_ = std::move(head);
  }
  wake();
}

void Exchange::write(std::string_view part) {
  bool is_too_much = false;
  {
    const std::lock_guard lock(mutex_);
    if (is_ended_ || is_dropped_) {
      return;
    }
    is_too_much = is_dropped_ = waiting_.size() + part.size() > max_waiting_;
    if (is_too_much) {
      waiting_ = std::string();
    } else {
      waiting_ += part;
    }
  }
  if (is_too_much) {
    gone_.request_stop();
  }
  wake();
}

void Exchange::end() {
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
  }
  wake();
}

Exchange::Chunk Exchange::take() {
  const std::lock_guard lock(mutex_);
  is_awake_ = false;
  return {.head = std::exchange(head_, std::nullopt),
          .is_whole = is_whole_,
          .body = std::exchange(waiting_, std::string()),
          .is_ended = is_ended_};
}

void Exchange::on_chunk(std::function<void()> wake) {
  {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
  }
}

void Exchange::wake() {
  std::function<void()> call;
  {
    const std::lock_guard lock(mutex_);
    if (!wake_ || std::exchange(is_awake_, true)) {
      return;
    }
    call = wake_;
  }
  call();
}

}  // namespace heed::serve
