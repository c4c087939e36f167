#include "tune/tuning_state.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/json_depth.h"

namespace heed {
namespace {

using nlohmann::json;

constexpr const char* kTuningFormat = "heed-tuning";
constexpr int64_t kTuningVersion = 1;

// A number that is not finite is null in JSON.
json number_or_null(double value) { return std::isfinite(value) ? json(value) : json(); }
double finite_or_nan(const json& value) { return value.is_null() ? std::nan("") : value.get<double>(); }

json of_leg(const Leg& leg) {
  json others = json::object();
  for (const NamedScore& score : leg.others) {
    others[score.name] = number_or_null(score.value);
  }
  return {{"share", leg.share},
          {"update", leg.update},
          {"value", number_or_null(leg.value)},
          {"loss", number_or_null(leg.loss)},
          {"scores", others}};
}

Leg leg_of(const json& root) {
  Leg leg{.share = root.at("share").get<double>(),
          .update = root.at("update").get<int64_t>(),
          .value = finite_or_nan(root.at("value")),
          .loss = finite_or_nan(root.at("loss")),
          .others = {}};
  for (const auto& [name, value] : root.at("scores").get_ref<const json::object_t&>()) {
    leg.others.push_back({name, finite_or_nan(value)});
  }
  return leg;
}

json of_trial(const Trial& trial) {
  json root{{"changes", json::array()},
            {"seed", trial.seed},
            {"legs", json::array()},
            {"validated", of_leg(trial.validated)},
            {"best", number_or_null(trial.best)},
            {"failure", trial.failure},
            {"seconds", trial.seconds},
            {"updates", trial.updates},
            {"second_seed", trial.is_second_seed}};
  for (const Change& change : trial.changes) {
    root["changes"].push_back({change.key, change.value});
  }
  for (const Leg& leg : trial.legs) {
    root["legs"].push_back(of_leg(leg));
  }
  return root;
}

Trial trial_of(const json& root) {
  Trial trial{.changes = {},
              .seed = root.at("seed").get<int64_t>(),
              .legs = {},
              .validated = leg_of(root.at("validated")),
              .best = root.at("best").is_null() ? -INFINITY : root.at("best").get<double>(),
              .failure = root.at("failure").get<std::string>(),
              .seconds = root.at("seconds").get<double>(),
              .updates = root.at("updates").get<int64_t>(),
              .is_second_seed = root.at("second_seed").get<bool>()};
  for (const json& change : root.at("changes")) {
    trial.changes.push_back({change.at(0).get<std::string>(), change.at(1).get<std::string>()});
  }
  for (const json& leg : root.at("legs")) {
    trial.legs.push_back(leg_of(leg));
  }
  return trial;
}

}  // namespace

double TuningState::seconds() const {
  double sum = other_seconds;
  for (const Trial& trial : trials) {
    sum += trial.seconds;
  }
  return sum;
}

int64_t TuningState::updates() const {
  auto sum = static_cast<int64_t>(points.size());
  for (const Trial& trial : trials) {
    sum += trial.updates;
  }
  return sum;
}

std::string to_json(const TuningState& state) {
  json root{{"format", kTuningFormat},
            {"version", kTuningVersion},
            {"recipe", state.recipe},
            {"vary", state.varied},
            {"minutes", state.minutes},
            {"run_seconds", state.run_seconds},
            {"rates",
             {{"lowest", state.rates.lowest}, {"highest", state.rates.highest}, {"suggested", state.rates.suggested}}},
            {"range_test", json::array()},
            {"other_seconds", state.other_seconds},
            {"trials", json::array()},
            {"notes", state.notes}};
  for (const RatePoint& point : state.points) {
    root["range_test"].push_back({point.rate, number_or_null(point.loss)});
  }
  for (const Trial& trial : state.trials) {
    root["trials"].push_back(of_trial(trial));
  }
  return root.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

TuningState parse_tuning(std::string_view text, std::string_view name) {
  require_shallow_json(text, std::string(name));
  const json root = json::parse(text, nullptr, false);
  TuningState state;
  try {
    require<FormatError>(!root.is_discarded() && root.at("format") == kTuningFormat, name,
                         "is not what heed tune writes");
    require<FormatError>(root.at("version") == kTuningVersion, name, "is of another version of heed");
    state.recipe = root.at("recipe").get<std::string>();
    state.varied = root.at("vary").get<std::vector<std::string>>();
    state.minutes = root.at("minutes").get<double>();
    state.run_seconds = root.at("run_seconds").get<double>();
    const json& rates = root.at("rates");
    state.rates = {.lowest = rates.at("lowest").get<double>(),
                   .highest = rates.at("highest").get<double>(),
                   .suggested = rates.at("suggested").get<double>()};
    for (const json& point : root.at("range_test")) {
      state.points.push_back({point.at(0).get<double>(), finite_or_nan(point.at(1))});
    }
    state.other_seconds = root.at("other_seconds").get<double>();
    for (const json& trial : root.at("trials")) {
      state.trials.push_back(trial_of(trial));
    }
    state.notes = root.at("notes").get<std::vector<std::string>>();
  } catch (const json::exception& error) {
    fail<FormatError>(name, "is damaged: {}", error.what());
  }
  require<FormatError>(!state.trials.empty() && state.trials.front().changes.empty(), name,
                       "does not begin with the recipe itself");
  return state;
}

}  // namespace heed
