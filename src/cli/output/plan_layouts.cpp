#include "cli/output/plan_layouts.h"
#include "cli/output/counted.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "cli/output/json_text.h"
#include "cli/output/standard_output.h"
#include "plan/units.h"

namespace heed::cli {
namespace {

constexpr double kGigabyte = 1e9, kMegabyte = 1e6, kPercent = 100.0;
using AskedWireType = std::optional<WireType>;
constexpr std::array kGradientNames{
    NamedValue<AskedWireType>{"recipe", std::nullopt}, NamedValue<AskedWireType>{"f32", WireType::f32},
    NamedValue<AskedWireType>{"bf16", WireType::bf16}, NamedValue<AskedWireType>{"int8", WireType::int8},
    NamedValue<AskedWireType>{"int4", WireType::int4}};

// An option whose value has a unit. `standard` is the default as one would write it.
Option quantity_option(const std::string& names, double& target, std::string standard,
                       double (*parse)(std::string_view text, std::string_view where), const std::string& help) {
  Option made = option(names, standard, help);
  made.set = [what = made.name, &target, parse](const std::string& text) { target = parse(text, what); };
  return made;
}

double gigabytes(int64_t bytes) { return static_cast<double>(bytes) / kGigabyte; }

// With three digits, but not as a power of ten.
std::string in_digits(double seconds) {
  return seconds < 999.5 ? fmt::format("{:.3g}", seconds) : fmt::format("{:.0f}", seconds);
}

std::string shape(const Layout& layout) {
  return fmt::format("{:>4} {:>8} {:>6}", layout.data, layout.pipeline, layout.tensor);
}

void print_head(const ModelPlan& plan) {
  const RanksPlan& ranks = *plan.ranks;
  put("{} of {}{}, joined by {} and {}; {} an update\n", counted(ranks.options.ranks, "rank"),
      describe_rate(ranks.options.flops_per_second), plan.timing ? " as measured" : "",
      describe_bandwidth(ranks.options.link.bytes_per_second), describe_latency(ranks.options.link.latency),
      counted(ranks.shards, "shard"));
}

void print_table(const ModelPlan& plan, int64_t top) {
  const RanksPlan& ranks = *plan.ranks;
  put("{:<20} {:>9}  {:-^40} {:>9} {:>11}\n", "layout", "memory", " seconds of an update ", "tokens", "efficiency");
  put("{:>4} {:>8} {:>6} {:>9}  {:>9} {:>9} {:>9} {:>10} {:>9} {:>11}\n", "data", "pipeline", "tensor", "GB", "working",
      "idle", "sending", "total", "a second", "%");
  int64_t listed = 0;
  for (const LayoutCost& cost : ranks.possible) {
    if (top > 0 && listed == top) {
      break;
    }
    ++listed;
    const LayoutTime& time = cost.time;
    put("{} {:>9.3g}  {:>9} {:>9} {:>9} {:>10} {:>9} {:>11.1f}{}\n", shape(cost.layout), gigabytes(cost.memory.total()),
        in_digits(time.compute + time.optimizer), in_digits(time.idle), in_digits(time.communication()),
        in_digits(time.total()), in_short(static_cast<double>(plan.update_tokens()) / time.total()),
        kPercent * ranks.efficiency(cost), ranks.fits(cost) ? "" : "  does not fit");
  }
  if (const int64_t more = std::ssize(ranks.possible) - listed; more > 0) {
    put("and {} more\n", more);
  }
}

// One line for each reason, which several layouts may share.
void print_impossible(const RanksPlan& ranks) {
  std::vector<std::string> reasons;
  for (const ImpossibleLayout& one : ranks.impossible) {
    for (const std::string& reason : one.reasons) {
      if (std::ranges::find(reasons, reason) == reasons.end()) {
        reasons.push_back(reason);
      }
    }
  }
  if (!reasons.empty()) {
    put("impossible: {}\n", counted(std::ssize(ranks.impossible), "other layout"));
  }
  for (const std::string& reason : reasons) {
    put("  {}\n", reason);
  }
}

void print_choice(const RanksPlan& ranks) {
  if (const LayoutCost* best = ranks.chosen()) {
    put("best: --layout {}\n", to_text(best->layout));
  } else if (ranks.possible.empty()) {
    put("no layout of {} is possible\n", counted(ranks.options.ranks, "rank"));
  } else {
    const auto least =
        std::ranges::min_element(ranks.possible, {}, [](const LayoutCost& cost) { return cost.memory.total(); });
    put("no layout fits into {:.3g} GB a rank; {} needs the least, {:.3g} GB\n", ranks.options.memory / kGigabyte,
        to_text(least->layout), gigabytes(least->memory.total()));
  }
}

void print_one(const ModelPlan& plan, const LayoutCost& cost) {
  const RanksPlan& ranks = *plan.ranks;
  const LayoutTime& time = cost.time;
  const auto row = [](std::string_view name, double seconds, const std::string& remark) {
    put("{:<24} {:>10.4g}  {}\n", name, seconds, remark);
  };
  const int64_t shards = (ranks.shards + cost.layout.data - 1) / cost.layout.data;
  put("{}\n", to_text(cost.layout));
  put("{:<24} {:>10}\n", "an update", "seconds");
  row("forward and backward", time.compute, fmt::format("of {} a data rank", counted(shards, "shard")));
  row("optimizer", time.optimizer, "");
  row("idle", time.idle, "while the stages of the pipeline fill and drain");
  row("gradients", time.gradients, "what backward does not hide");
  row("weights", time.weights, "gathered after the update");
  row("outer steps", time.outer_steps, "of local updates, an update's share");
  row("between stages", time.stages, "");
  row("sums of divided matrices", time.tensor, "");
  row("messages", time.messages, "processor time for copying what is sent and received");
  row("total", time.total(),
      fmt::format("{} tokens/s, efficiency {:.1f}%", in_short(static_cast<double>(plan.update_tokens()) / time.total()),
                  kPercent * ranks.efficiency(cost)));
  put("of it communication that no work hides: {:.4g} s, {:.1f}%\n", time.communication(),
      kPercent * time.communication() / time.total());
  put("sent by a rank: {:.1f} MB an update\n", cost.sent_bytes / kMegabyte);
  put("memory of a rank: {:.3g} GB (weights {:.3g}, gradients {:.3g}, optimizer {:.3g}, activations {:.3g}){}\n",
      gigabytes(cost.memory.total()), gigabytes(cost.memory.weights), gigabytes(cost.memory.gradients),
      gigabytes(cost.memory.optimizer), gigabytes(cost.memory.activations),
      ranks.fits(cost) ? "" : fmt::format("; does not fit into {:.3g} GB", ranks.options.memory / kGigabyte));
}

std::string json_of(const Layout& layout) {
  return fmt::format("\"data\": {}, \"pipeline\": {}, \"tensor\": {}", layout.data, layout.pipeline, layout.tensor);
}

std::string json_of(const RanksPlan& ranks, const LayoutCost& cost) {
  const LayoutTime& time = cost.time;
  const LayoutMemory& memory = cost.memory;
  return fmt::format(
      "{{{}, \"fits\": {}, \"seconds\": {{\"compute\": {:.6g}, \"optimizer\": {:.6g}, \"idle\": {:.6g}, "
      "\"gradients\": {:.6g}, \"weights\": {:.6g}, \"outer_steps\": {:.6g}, \"stages\": {:.6g}, \"tensor\": {:.6g}, "
      "\"messages\": {:.6g}, \"communication\": {:.6g}, \"total\": {:.6g}}}, "
      "\"memory\": {{\"weights\": {}, \"gradients\": {}, \"optimizer\": {}, \"activations\": {}, \"total\": {}}}, "
      "\"sent_bytes\": {:.9g}, \"efficiency\": {:.6g}}}",
      json_of(cost.layout), ranks.fits(cost), time.compute, time.optimizer, time.idle, time.gradients, time.weights,
      time.outer_steps, time.stages, time.tensor, time.messages, time.communication(), time.total(), memory.weights,
      memory.gradients, memory.optimizer, memory.activations, memory.total(), cost.sent_bytes, ranks.efficiency(cost));
}

}  // namespace

std::vector<Option> ranks_options(RanksArguments& arguments) {
  RanksOptions& options = arguments.options;
  std::vector<Option> all{
      quantity_option("--bandwidth RATE", options.link.bytes_per_second, "1Gbit", parse_bandwidth,
                      "of each rank's link, in each direction, such as 100Mbit or 12GB (a second)"),
      quantity_option("--latency TIME", options.link.latency, "50us", parse_latency,
                      "of a message between ranks, such as 50us or 1ms"),
      quantity_option(
          "--message-rate RATE", options.link.moved_per_second, "", parse_bandwidth,
          "how fast the processors that compute also copy messages, such as 2GB (a second); without it, copying "
          "takes none of their time"),
      quantity_option("--memory SIZE", options.memory, "", parse_size,
                      "memory of a rank, such as 16GB; layouts that need more are not chosen"),
      quantity_option("--flops-per-second RATE", options.flops_per_second, "", parse_rate,
                      "of a rank while it trains, such as 500G or 1.5T; without it this machine's speed is measured"),
      needing("--flops-per-second",
              quantity_option("--memory-bandwidth RATE", options.memory_bandwidth, "20GB", parse_bandwidth,
                              "of a rank's memory, for the time of its optimizer")),
      option("--gradients FORMAT", options.gradients, kGradientNames,
             "format in which ranks send gradients: f32, bf16, with local updates also int8 or int4, or the recipe's"),
      option("--local-updates N", options.local_updates,
             "updates between outer steps of the data ranks; without it, as in the recipe"),
      option("--top N", arguments.top, "list the best N layouts; 0: all")};
  for (Option& one : all) {
    one.set = [&arguments, name = one.name, set = one.set](const std::string& text) {
      arguments.detail = name;
      set(text);
    };
  }
  return joined({{needing("RECIPE", option("--ranks N", arguments.ranks,
                                           "plan training on N processes: their possible layouts, best first")),
                  needing("RECIPE", option("--layout LAYOUT", arguments.layout,
                                           "plan this layout of ranks alone, such as data=2,pipeline=2,tensor=1"))},
                 all});
}

void read_ranks(const RanksArguments& arguments, PlanOptions& plan) {
  const auto refuse_unless = [](bool condition, const std::string& message) {
    if (!condition) {
      throw std::runtime_error("plan: " + message);
    }
  };
  if (!arguments.ranks && !arguments.layout) {
    refuse_unless(arguments.detail.empty(), arguments.detail + " needs --ranks or --layout");
    return;
  }
  refuse_unless(arguments.top >= 0, fmt::format("--top is {}, expected 0 or more", arguments.top));
  refuse_unless(!arguments.ranks || *arguments.ranks >= 1,
                fmt::format("--ranks is {}, expected 1 or more", arguments.ranks.value_or(0)));
  plan.ranks = arguments.options;
  plan.ranks->ranks = arguments.ranks.value_or(0);
  if (arguments.layout) {
    plan.ranks->layout = parse_layout(*arguments.layout, plan.ranks->ranks, "--layout");
  }
  if (arguments.options.flops_per_second > 0.0) {
    plan.run = PlanOptions::Run::none;
  } else {
    refuse_unless(plan.run == PlanOptions::Run::short_run,
                  "ranks need a speed: --flops-per-second, or the short run that --no-run skips");
  }
}

void print_ranks(const ModelPlan& plan, int64_t top) {
  const RanksPlan& ranks = *plan.ranks;
  print_head(plan);
  if (ranks.options.layout) {
    print_one(plan, ranks.possible.front());
    return;
  }
  if (!ranks.possible.empty()) {
    print_table(plan, top);
  }
  print_choice(ranks);
  if (top == 0 || ranks.possible.empty()) {
    print_impossible(ranks);
  }
}

std::string ranks_json(const ModelPlan& plan, int64_t top) {
  const RanksPlan& ranks = *plan.ranks;
  std::string layouts, impossible;
  int64_t listed = 0;
  for (const LayoutCost& cost : ranks.possible) {
    if (top == 0 || listed++ < top) {
      layouts += fmt::format("{}{}", layouts.empty() ? "" : ", ", json_of(ranks, cost));
    }
  }
  for (const ImpossibleLayout& one : ranks.impossible) {
    std::vector<std::string> reasons(one.reasons.size());
    std::ranges::transform(one.reasons, reasons.begin(), json_string);
    impossible += fmt::format("{}{{{}, \"reasons\": [{}]}}", impossible.empty() ? "" : ", ", json_of(one.layout),
                              fmt::join(reasons, ", "));
  }
  const LayoutCost* best = ranks.chosen();
  return fmt::format(
      "\"ranks\": {{\"count\": {}, \"flops_per_second\": {:.6g}, \"bytes_per_second\": {:.9g}, \"latency\": {:.6g}, "
      "\"shards\": {}, \"chosen\": {}, \"layouts\": [{}], \"impossible\": [{}]}}",
      ranks.options.ranks, ranks.options.flops_per_second, ranks.options.link.bytes_per_second,
      ranks.options.link.latency, ranks.shards, best ? fmt::format("{{{}}}", json_of(best->layout)) : "null", layouts,
      impossible);
}

}  // namespace heed::cli
