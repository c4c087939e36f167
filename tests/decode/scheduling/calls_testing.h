// Calls of a language model that last as long as a test wants.
#pragma once

#include <atomic>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "decode/language_model_testing.h"

namespace heed::test {

// Counts, and does something at the first piece.
class Listener final : public GenerationListener {
 public:
  explicit Listener(std::function<void()> at_first) : at_first_(std::move(at_first)) {}

  void on_piece(const Text& /*text*/, std::string_view /*piece*/) override {
    if (!std::exchange(began_, true)) {
      at_first_();
    }
  }
  void on_completion(const Text& /*text*/, const Completion& /*completion*/) override { ++completed_; }

  int completed() const { return completed_; }

 private:
  std::function<void()> at_first_;
  bool began_ = false;
  std::atomic<int> completed_{0};
};

// The model can't end its texts.
struct Endless : RandomLanguageModel {
  explicit Endless(int threads) : RandomLanguageModel(threads) { bias(tokenizer->special().eos, -100.0F); }
};

inline std::chrono::steady_clock::time_point soon(int64_t milliseconds) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
}

// Returns when `holds()`, or after ten seconds: what is expected then is not so.
template <class Holds>
void wait_until(const Holds& holds) {
  for (const auto end = soon(10'000); !holds() && std::chrono::steady_clock::now() < end;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// A call that goes on until it is stopped.
class EndlessCall {
 public:
  enum class Begin : uint8_t { awaited, not_awaited };

  // Returns when it has written something, or at once.
  EndlessCall(Endless& model, std::vector<std::string> prompts, int64_t samples, const Sharing& sharing = {},
              Begin begin = Begin::awaited)
      : listener_([this] {
          has_begun_ = true;
          began_.count_down();
        }),
        caller_([this, &model, prompts = std::move(prompts), samples, sharing] {
          model.generate(prompts,
                         {.samples = samples,
                          .max_tokens = 1'000'000'000,
                          .interruption = {.stop = stop_.get_token()},
                          .sharing = sharing},
                         &listener_);
        }) {
    if (begin == Begin::awaited) {
      began_.wait();
    }
  }
  ~EndlessCall() {
    stop();
    if (caller_.joinable()) {
      caller_.join();
    }
  }
  EndlessCall(const EndlessCall&) = delete;
  EndlessCall& operator=(const EndlessCall&) = delete;

  bool has_begun() const { return has_begun_; }
  void stop() { stop_.request_stop(); }
  void end() {  // and waits for it
    stop();
    caller_.join();
  }

 private:
  std::latch began_{1};
  std::atomic<bool> has_begun_{false};
  std::stop_source stop_;
  Listener listener_;
  std::thread caller_;
};

}  // namespace heed::test
