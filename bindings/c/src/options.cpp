#include "options.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "option_names.h"

namespace heed::c {
namespace {

const heed_options kNoOptions = {};

const OptionEntry& entry_of(int option) {
  const auto entries = option_entries();
  const auto found = std::ranges::find(entries, option, [](const OptionEntry& entry) { return int{entry.option}; });
  if (found == entries.end()) {
    throw ConfigError("heed_options: there is no option " + std::to_string(option));
  }
  return *found;
}

void require_kind(const OptionEntry& entry, OptionKind kind) {
  constexpr std::array<std::string_view, 3> kKinds{"an integer", "a real number", "a text"};
  if (entry.kind != kind) {
    throw ConfigError(std::string(entry.name) + ": expected " + std::string(kKinds[static_cast<size_t>(entry.kind)]) +
                      ", got " + std::string(kKinds[static_cast<size_t>(kind)]));
  }
}

template <class Value>
void set_value(const OptionEntry& entry, std::vector<Value>& values, Value value) {
  if (entry.times == OptionTimes::once) {
    values.assign(1, std::move(value));
  } else {
    values.push_back(std::move(value));
  }
}

}  // namespace

std::string name_of_option(int option) { return entry_of(option).name; }

OptionReader::OptionReader(const heed_options* options) : options_(options == nullptr ? kNoOptions : *options) {}

const heed_options::Values* OptionReader::find(heed_option option) {
  read_.insert(option);
  const auto found = options_.values.find(option);
  return found == options_.values.end() ? nullptr : &found->second;
}

void OptionReader::require_between(int option, int64_t value, int64_t low, int64_t high) {
  if (value < low || value > high) {
    throw ConfigError(name_of_option(option) + ": " + std::to_string(value) + " is not between " + std::to_string(low) +
                      " and " + std::to_string(high));
  }
}

void OptionReader::real(heed_option option, double& target) {
  if (const auto* values = find(option)) {
    target = values->reals.back();
  }
}

void OptionReader::text(heed_option option, std::string& target) {
  if (const auto* values = find(option)) {
    target = values->texts.back();
  }
}

void OptionReader::text(heed_option option, std::optional<std::string>& target) {
  if (const auto* values = find(option)) {
    target = values->texts.back();
  }
}

void OptionReader::integers(heed_option option, std::vector<int64_t>& target) {
  if (const auto* values = find(option)) {
    target = values->integers;
  }
}

void OptionReader::texts(heed_option option, std::vector<std::string>& target) {
  if (const auto* values = find(option)) {
    target = values->texts;
  }
}

void OptionReader::interruption(Interruption& target) {
  takes_stop_ = true;
  target.stop = options_.stop;
  double seconds = -1.0;
  real(HEED_TIMEOUT, seconds);
  if (has(HEED_TIMEOUT)) {
    constexpr double kMost = 1e9;  // three decades, which the clock's type can hold
    if (!(seconds >= 0.0)) {
      throw ConfigError("HEED_TIMEOUT: expected seconds, at least 0, got " + std::to_string(seconds));
    }
    target.deadline = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                             std::chrono::duration<double>(std::min(seconds, kMost)));
  }
}

void OptionReader::sharing(Sharing& target) {
  integer(HEED_PRIORITY, target.priority);
  integer(HEED_CLIENT, target.client);
}

const heed_options& OptionReader::callbacks() {
  tells_of_texts_ = true;
  return options_;
}

heed_options::Callback<heed_event_callback> OptionReader::event_callback() {
  tells_of_events_ = true;
  return options_.on_event;
}

void OptionReader::finish() const {
  for (const auto& [option, values] : options_.values) {
    if (!read_.contains(option)) {
      throw ConfigError(name_of_option(option) + ": means nothing to this call");
    }
  }
  const bool hears_of_events = options_.on_event.function != nullptr;
  if ((options_.hears_of_texts() && !tells_of_texts_) || (hears_of_events && !tells_of_events_)) {
    throw ConfigError("heed_options: this call tells no callback of " +
                      std::string(tells_of_texts_ || tells_of_events_ ? "that" : "anything"));
  }
  if (options_.stop.stop_possible() && !takes_stop_) {
    throw ConfigError("heed_options: this call cannot be stopped");
  }
}

}  // namespace heed::c

using namespace heed::c;

heed_error* heed_options_create(heed_options** options) {
  return guarded([&] {
    require_given(static_cast<const void*>(options), "options");
    *options = std::make_unique<heed_options>().release();
  });
}

void heed_options_free(heed_options* options) { delete options; }

heed_error* heed_options_set_int(heed_options* options, int option, int64_t value) {
  return guarded([&] {
    heed_options& all = given(options, "options");
    const OptionEntry& entry = entry_of(option);
    require_kind(entry, OptionKind::integer);
    set_value(entry, all.values[option].integers, value);
  });
}

heed_error* heed_options_set_real(heed_options* options, int option, double value) {
  return guarded([&] {
    heed_options& all = given(options, "options");
    const OptionEntry& entry = entry_of(option);
    require_kind(entry, OptionKind::real);
    set_value(entry, all.values[option].reals, value);
  });
}

heed_error* heed_options_set_text(heed_options* options, int option, const char* text, size_t length) {
  return guarded([&] {
    heed_options& all = given(options, "options");
    const OptionEntry& entry = entry_of(option);
    require_kind(entry, OptionKind::text);
    set_value(entry, all.values[option].texts, std::string(text_of(text, length, "text")));
  });
}

heed_error* heed_stop_create(heed_stop** stop) {
  return guarded([&] {
    require_given(static_cast<const void*>(stop), "stop");
    *stop = std::make_unique<heed_stop>().release();
  });
}

heed_error* heed_stop_request(heed_stop* stop) {
  return guarded([&] { given(stop, "stop").source.request_stop(); });
}

void heed_stop_free(heed_stop* stop) { delete stop; }

heed_error* heed_options_set_stop(heed_options* options, heed_stop* stop) {
  return guarded(
      [&] { given(options, "options").stop = stop == nullptr ? std::stop_token() : stop->source.get_token(); });
}

heed_error* heed_options_on_piece(heed_options* options, heed_piece_callback callback, void* user) {
  return guarded([&] { given(options, "options").on_piece = {callback, user}; });
}

heed_error* heed_options_on_token(heed_options* options, heed_token_callback callback, void* user) {
  return guarded([&] { given(options, "options").on_token = {callback, user}; });
}

heed_error* heed_options_on_text(heed_options* options, heed_text_callback callback, void* user) {
  return guarded([&] { given(options, "options").on_text = {callback, user}; });
}

heed_error* heed_options_on_event(heed_options* options, heed_event_callback callback, void* user) {
  return guarded([&] { given(options, "options").on_event = {callback, user}; });
}
