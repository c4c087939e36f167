// What a caller has set, and its way into the options of heed's own functions.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "error.h"
#include "heed/errors.h"
#include "heed/types/interruption.h"
#include "heed/types/names.h"
#include "heed/types/sharing.h"

struct heed_stop {
  std::stop_source source;
};

struct heed_options {
  // One of these has values, by the option's kind. Options that are set once have the latest.
  struct Values {
    std::vector<int64_t> integers;
    std::vector<double> reals;
    std::vector<std::string> texts;
  };
  template <class Function>
  struct Callback {
    Function function = nullptr;
    void* user = nullptr;
  };

  std::map<int, Values> values = {};
  Callback<heed_piece_callback> on_piece = {};
  Callback<heed_token_callback> on_token = {};
  Callback<heed_text_callback> on_text = {};
  Callback<heed_event_callback> on_event = {};
  std::stop_token stop = {};

  bool hears_of_texts() const {
    return on_piece.function != nullptr || on_token.function != nullptr || on_text.function != nullptr;
  }
};

namespace heed::c {

// "HEED_BEAM"
std::string name_of_option(int option);

// Reads the options of one call into the members of structs, which keep their values where nothing was set.
class OptionReader {
 public:
  // `options` may be NULL.
  explicit OptionReader(const heed_options* options);

  template <class Integer>
  void integer(heed_option option, Integer& target) {
    if (const auto* values = find(option)) {
      const int64_t value = values->integers.back();
      if constexpr (std::is_unsigned_v<Integer>) {
        target = static_cast<Integer>(value);
      } else {
        require_between(option, value, std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max());
        target = static_cast<Integer>(value);
      }
    }
  }
  void real(heed_option option, double& target);
  void text(heed_option option, std::string& target);
  void text(heed_option option, std::optional<std::string>& target);
  void integers(heed_option option, std::vector<int64_t>& target);
  void texts(heed_option option, std::vector<std::string>& target);

  // One of an enum's names (kFooNames).
  template <class Value, size_t kCount>
  void named(heed_option option, Value& target, const std::array<NamedValue<Value>, kCount>& names) {
    if (const auto* values = find(option)) {
      target = value_of_name(option, values->texts.back(), names);
    }
  }

  template <class Value, size_t kCount>
  static Value value_of_name(heed_option option, std::string_view given,
                             const std::array<NamedValue<Value>, kCount>& names) {
    std::string known;
    for (const auto& [name, value] : names) {
      if (name == given) {
        return value;
      }
      known += (known.empty() ? "" : ", ") + std::string(name);
    }
    throw ConfigError(name_of_option(option) + ": '" + std::string(given) + "' is none of " + known);
  }

  // 0 and 1 as two values of an enum.
  template <class Value>
  void choice(heed_option option, Value& target, Value no, Value yes) {
    if (const auto* values = find(option)) {
      require_between(option, values->integers.back(), 0, 1);
      target = values->integers.back() == 0 ? no : yes;
    }
  }

  bool has(heed_option option) const { return options_.values.contains(option); }

  // HEED_TIMEOUT, from now on, and the options' stop. Calls that may be interrupted take both.
  void interruption(Interruption& target);
  void sharing(Sharing& target);
  // Callbacks, for calls that tell of texts, and for those that tell of events.
  const heed_options& callbacks();
  heed_options::Callback<heed_event_callback> event_callback();

  // ConfigError for options that have not been read.
  void finish() const;

 private:
  const heed_options::Values* find(heed_option option);
  static void require_between(int option, int64_t value, int64_t low, int64_t high);

  const heed_options& options_;
  std::set<int> read_;
  bool tells_of_texts_ = false, tells_of_events_ = false, takes_stop_ = false;
};

}  // namespace heed::c
