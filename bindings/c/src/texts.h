// Texts that models wrote, with their tokens, and the callbacks that hear of them.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "heed/types/writing/token_scores.h"
#include "options.h"

struct heed_token {
  std::string piece = {};
  int32_t id = 0;
  double log_probability = 0.0;
  int64_t offset = 0;
  std::vector<heed_token> likeliest = {};
};

struct heed_texts {
  struct Sample {
    std::string text;
    double score = 0.0, log_probability = 0.0;
    int64_t tokens = 0;
    std::string reason = {};
    std::vector<heed_token> each = {};
    std::vector<int64_t> alignment = {};  // pairs
  };
  std::vector<std::vector<Sample>> inputs = {};
};

namespace heed::c {

heed_token token_of(const ScoredToken& token);
std::vector<heed_token> tokens_of(const std::vector<ScoredToken>& tokens);

// Tells a call's callbacks of its texts. When one of them wants the call to end, stop() is requested, and no callback
// hears anything more; it is also requested when the options' stop is.
class Callbacks {
 public:
  // Keeps a reference to the options.
  explicit Callbacks(const heed_options& options);

  bool are_given() const {
    return options_.on_piece.function || options_.on_token.function || options_.on_text.function;
  }
  std::stop_token stop() const { return source_.get_token(); }
  bool has_stopped() const { return stopped_; }  // a callback wanted it
  void token(size_t input, size_t sample, const ScoredToken& token);
  void piece(size_t input, size_t sample, std::string_view piece);
  void text(size_t input, size_t sample, const std::string& text);

 private:
  template <class Function, class... Values>
  void call(const heed_options::Callback<Function>& callback, const Values&... values) {
    if (callback.function != nullptr && !stopped_) {
      stopped_ = callback.function(callback.user, values...) != 0;
      if (stopped_) {
        source_.request_stop();
      }
    }
  }

  const heed_options& options_;
  std::stop_source source_;
  std::stop_callback<std::function<void()>> forward_;
  bool stopped_ = false;
};

}  // namespace heed::c
