#include "bench/bench.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/output/counted.h"
#include "cli/output/standard_output.h"

namespace heed::cli {
namespace {

constexpr double kGiga = 1e9;

// A share above one says that another program used the machine while the yardstick was measured.
std::string_view quiet_or_not(double share) { return share > 1.0 ? "  (above 1: the machine was not quiet)" : ""; }

std::string_view in_cache_or_not(double share, const BenchLimits& limits) {
  return share > 1.0 && limits.binding() == "memory" ? "  (above 1: not all of it is read from memory)"
                                                     : quiet_or_not(share);
}

std::string json_of(const BenchLimits& limits) {
  return fmt::format("\"memory_seconds\": {:.6g}, \"matrix_seconds\": {:.6g}, \"limit\": \"{}\"", limits.memory_seconds,
                     limits.matrix_seconds, limits.binding());
}

std::string json_of(const std::vector<BenchOp>& ops) {
  std::string list;
  for (const BenchOp& op : ops) {
    list += fmt::format("{}{{\"op\": \"{}\", \"calls\": {:.6g}, \"share\": {:.4g}}}", list.empty() ? "" : ", ", op.name,
                        op.calls, op.share);
  }
  return fmt::format("[{}]", list);
}

void print_ops(const std::vector<BenchOp>& ops, std::string_view of) {
  put("\n{:<24} {:>6} {:>6}   {}\n", "op", "calls", "%", of);
  for (const BenchOp& op : ops) {
    put("{:<24} {:>6.0f} {:>6.1f}\n", op.name, op.calls, 100.0 * op.share);
  }
}

// A GPU has no yardstick here: bench/gpu measures PyTorch beside it.
void print_json_of_device(const TrainBenchReport& report) {
  std::string ops;
  for (const TrainBenchOp& op : report.ops) {
    ops += fmt::format("{}{{\"op\": \"{}\", \"calls\": {}, \"seconds\": {:.6g}}}", ops.empty() ? "" : ", ", op.name,
                       op.calls, op.seconds);
  }
  put("{{\"target_tokens_per_second\": {:.6g}, \"model_flops_per_second\": {:.6g}, \"peak_memory_bytes\": {}, "
      "\"parameters\": {}, \"step_seconds\": {:.6g}, \"precision\": \"{}\", \"device\": \"{}\", "
      "\"disturbance\": {:.3g}, \"ops\": [{}]}}\n",
      report.target_tokens_per_second, report.model_flops_per_second, report.peak_memory_bytes, report.parameters,
      report.step_seconds, name_of(report.precision), report.device, report.disturbance, ops);
}

void print_ops(const TrainBenchReport& report);

void print_text_of_device(const TrainBenchReport& report) {
  put("{}\n{} parameters, {}, {}\n\n", report.setup, report.parameters, name_of(report.precision), report.device);
  put("target tokens/s     {:>10.0f}   ({:.2f} ms per step of {} target tokens)\n", report.target_tokens_per_second,
      1e3 * report.step_seconds, report.target_tokens);
  put("model FLOP/s        {:>10.1f} T\n", report.model_flops_per_second / (1e3 * kGiga));
  put("peak memory         {:>10.1f} MB, on the device\n", static_cast<double>(report.peak_memory_bytes) / 1e6);
  print_ops(report);
}

void print_json(const TrainBenchReport& report) {
  if (!report.device.empty()) {
    return print_json_of_device(report);
  }
  put("{{\"target_tokens_per_second\": {:.6g}, \"model_flops_per_second\": {:.6g}, "
      "\"roofline_flops_per_second\": {:.6g}, \"peak_product_flops_per_second\": {:.6g}, \"share\": {:.4g}, "
      "\"peak_memory_bytes\": {}, \"parameters\": {}, \"trained_parameters\": {}, "
      "\"step_seconds\": {:.6g}, \"precision\": \"{}\", "
      "\"threads\": {}, \"instruction_set\": \"{}\", \"yardstick\": \"{}\", \"disturbance\": {:.3g}, "
      "\"quiet\": {}}}\n",
      report.target_tokens_per_second, report.model_flops_per_second, report.roofline_flops_per_second,
      report.peak_product_flops_per_second, report.share, report.peak_memory_bytes, report.parameters,
      report.trained_parameters, report.step_seconds, name_of(report.precision), report.threads, report.instruction_set,
      report.yardstick, report.disturbance, report.quiet());
}

void print_text(const TrainBenchReport& report) {
  if (!report.device.empty()) {
    return print_text_of_device(report);
  }
  put("{}\n", report.setup);
  put("{} parameters{}, {}{}, {} kernels, {}\n\n", report.parameters,
      report.trained_parameters == report.parameters ? "" : fmt::format(" ({} trained)", report.trained_parameters),
      name_of(report.precision),
      report.precision == Precision::bf16 ? fmt::format(" (products: {})", report.bf16_products) : "",
      report.instruction_set, counted(report.threads, "thread"));
  put("target tokens/s     {:>10.0f}   ({:.1f} ms per step of {} target tokens)\n", report.target_tokens_per_second,
      1e3 * report.step_seconds, report.target_tokens);
  put("model FLOP/s        {:>10.1f} G\n", report.model_flops_per_second / kGiga);
  put("roofline            {:>10.1f} G  ({}: the best product of each of the step's shapes, harmonic mean)\n",
      report.roofline_flops_per_second / kGiga, report.yardstick);
  put("highest product     {:>10.1f} G\n", report.peak_product_flops_per_second / kGiga);
  put("share of roofline   {:>10.2f}{}\n", report.share,
      report.quiet() ? "" : "   (the machine was not quiet: measure again when nothing else runs)");
  put("slowest round       {:>10.2f}   times the fastest, of alternating steps and roofline\n", report.disturbance);
  put("memory copy         {:>10.1f} GB/s\n", report.memory_bytes_per_second / kGiga);
  put("peak memory         {:>10.1f} MB\n\n", static_cast<double>(report.peak_memory_bytes) / 1e6);
  print_ops(report);
}

void print_ops(const TrainBenchReport& report) {
  put("{:<24} {:>6} {:>9} {:>6} {:>10} {:>8}  {}\n", "op", "calls", "ms", "%", "GFLOP/s", "GB/s", "bound by");
  double total = 0.0;
  for (const TrainBenchOp& op : report.ops) {
    total += op.seconds;
  }
  for (const TrainBenchOp& op : report.ops) {
    put("{:<24} {:>6} {:>9.3f} {:>6.1f} {:>10.1f} {:>8.1f}  {}\n", op.name, op.calls, 1e3 * op.seconds,
        100.0 * op.seconds / total, op.flops_per_second / kGiga, op.bytes_per_second / kGiga, op.bound);
  }
}

std::string_view matrices_of(const GenerateBenchReport& report) {
  return report.weights == MatrixForm::precision ? name_of(report.precision)
                                                 : name_among(kMatrixFormNames, report.weights);
}

void print_json(const GenerateBenchReport& report) {
  std::string streams;
  for (const StreamsBench& s : report.streams) {
    streams += fmt::format(
        "{}{{\"streams\": {}, \"tokens_per_second\": {:.6g}, \"step_seconds\": {:.6g}, "
        "\"bytes_per_second\": {:.6g}, {}, \"share\": {:.4g}, \"ops\": {}}}",
        streams.empty() ? "" : ", ", s.streams, s.tokens_per_second, s.step_seconds, s.bytes_per_second,
        json_of(s.limits), s.share, json_of(s.ops));
  }
  put("{{\"prompt\": {}, \"prompt_seconds\": {:.6g}, \"prompt_flops_per_second\": {:.6g}, "
      "\"roofline_flops_per_second\": {:.6g}, \"prompt_share\": {:.4g}, \"prompt_ops\": {}, "
      "\"read_bytes_per_second\": {:.6g}, \"product_flops_per_second\": {:.6g}, \"weight_bytes\": {}, "
      "\"peak_memory_bytes\": {}, \"parameters\": {}, \"precision\": \"{}\", "
      "\"weights\": \"{}\", \"threads\": {}, \"streams\": [{}]}}\n",
      report.prompt, report.prompt_seconds, report.prompt_flops_per_second, report.roofline_flops_per_second,
      report.prompt_share, json_of(report.prompt_ops), report.read_bytes_per_second, report.product_flops_per_second,
      report.weight_bytes, report.peak_memory_bytes, report.parameters, name_of(report.precision), matrices_of(report),
      report.threads, streams);
}

void print_text(const GenerateBenchReport& report) {
  put("{}\n", report.setup);
  put("{} parameters, {}, weights in {}, {}\n\n", report.parameters, name_of(report.precision), matrices_of(report),
      counted(report.threads, "thread"));
  put("first token         {:>10.1f} ms  (a prompt of {} tokens)\n", 1e3 * report.prompt_seconds, report.prompt);
  put("prompt FLOP/s       {:>10.1f} G\n", report.prompt_flops_per_second / kGiga);
  put("roofline            {:>10.1f} G   (oneDNN's best product of each of the prompt's shapes, harmonic mean)\n",
      report.roofline_flops_per_second / kGiga);
  put("share of roofline   {:>10.2f}{}\n", report.prompt_share, quiet_or_not(report.prompt_share));
  put("weights             {:>10.1f} MB  (read by a step)\n", static_cast<double>(report.weight_bytes) / 1e6);
  put("memory read         {:>10.1f} GB/s\n", report.read_bytes_per_second / kGiga);
  put("products            {:>10.1f} G   (FLOP/s of oneDNN's best, with 512 rows)\n",
      report.product_flops_per_second / kGiga);
  put("peak memory         {:>10.1f} MB\n\n", static_cast<double>(report.peak_memory_bytes) / 1e6);
  put("{:>7} {:>10} {:>11} {:>9} {:>9} {:>9}  {}\n", "streams", "tokens/s", "ms per step", "GB/s read", "memory ms",
      "matrix ms", "share of the binding limit");
  for (const StreamsBench& s : report.streams) {
    put("{:>7} {:>10.0f} {:>11.3f} {:>9.1f} {:>9.3f} {:>9.3f}  {:.2f} of {}{}\n", s.streams, s.tokens_per_second,
        1e3 * s.step_seconds, s.bytes_per_second / kGiga, 1e3 * s.limits.memory_seconds, 1e3 * s.limits.matrix_seconds,
        s.share, s.limits.binding(), in_cache_or_not(s.share, s.limits));
  }
  print_ops(report.prompt_ops, "the prompt");
  for (const StreamsBench& s : report.streams) {
    print_ops(s.ops, counted(s.streams, "stream") + ", one step");
  }
}

std::string_view matrices_of(const DecodeBenchReport& report) {
  return report.weights == MatrixForm::precision ? name_of(report.precision)
                                                 : name_among(kMatrixFormNames, report.weights);
}

void print_json(const DecodeBenchReport& report) {
  std::string rows;
  for (const DecodeBenchRow& row : report.rows) {
    rows += fmt::format(
        "{}{{\"beam\": {}, \"tokens_per_second\": {:.6g}, \"seconds\": {:.6g}, {}, \"share\": {:.4g}, \"ops\": {}}}",
        rows.empty() ? "" : ", ", row.beam, row.tokens_per_second, row.seconds, json_of(row.limits), row.share,
        json_of(row.ops));
  }
  put("{{\"precision\": \"{}\", \"weights\": \"{}\", \"threads\": {}, \"parameters\": {}, \"weight_bytes\": {}, "
      "\"peak_memory_bytes\": {}, \"alone_median_seconds\": {:.6g}, \"alone_99_percent_seconds\": {:.6g}, "
      "\"alone\": {{{}, \"share\": {:.4g}}}, \"searches\": [{}]}}\n",
      name_of(report.precision), matrices_of(report), report.threads, report.parameters, report.weight_bytes,
      report.peak_memory_bytes, report.alone_median_seconds, report.alone_99_percent_seconds,
      json_of(report.alone_limits), report.alone_share, rows);
}

void print_text(const DecodeBenchReport& report) {
  put("{}\n", report.setup);
  put("{} parameters, {}, weights in {}, {}\n\n", report.parameters, name_of(report.precision), matrices_of(report),
      counted(report.threads, "thread"));
  put("{:<8} {:>10} {:>10} {:>10} {:>10}  {}\n", "search", "tokens/s", "seconds", "memory s", "matrix s",
      "share of the binding limit");
  for (const DecodeBenchRow& row : report.rows) {
    put("{:<8} {:>10.0f} {:>10.3f} {:>10.3f} {:>10.3f}  {:.2f} of {}{}\n",
        row.beam == 1 ? "greedy" : fmt::format("beam {}", row.beam), row.tokens_per_second, row.seconds,
        row.limits.memory_seconds, row.limits.matrix_seconds, row.share, row.limits.binding(),
        in_cache_or_not(row.share, row.limits));
  }
  put("\none sentence alone  {:>8.2f} ms (median), {:.2f} ms (99th percentile)\n", 1e3 * report.alone_median_seconds,
      1e3 * report.alone_99_percent_seconds);
  put("share of the limit  {:>8.2f} of {} (memory {:.2f} ms, matrix {:.2f} ms){}\n", report.alone_share,
      report.alone_limits.binding(), 1e3 * report.alone_limits.memory_seconds, 1e3 * report.alone_limits.matrix_seconds,
      in_cache_or_not(report.alone_share, report.alone_limits));
  put("weights             {:>8.1f} MB  (read by a step)\n", static_cast<double>(report.weight_bytes) / 1e6);
  put("peak memory         {:>8.1f} MB\n", static_cast<double>(report.peak_memory_bytes) / 1e6);
  for (const DecodeBenchRow& row : report.rows) {
    print_ops(row.ops, fmt::format("beam {}, one batch", row.beam));
  }
}

Command bench_decode_command() {
  const auto options = std::make_shared<DecodeBenchOptions>();
  const auto json = std::make_shared<bool>(false);
  return {
      .name = "decode",
      .summary = "time translating, with random weights: greedy, beam 4, and one sentence alone",
      .options =
          {required(option("--shape NAME", options->shape,
                           fmt::format("one of {}", fmt::join(decode_bench_shapes(), ", ")))),
           option("--precision NAME", options->precision, kPrecisionNames, "f32, bf16 or auto"),
           option("--weights FORM", options->weights, kMatrixFormNames,
                  "the matrices' form: the precision, or int8 or int4 with activations quantized as they are computed"),
           option("--threads N", options->threads, "threads to use; 0: one per processor"),
           option("--sentences N", options->sentences, "sources of 6 to 30 tokens, in batches of 32"),
           option(
               "--shortlist N", options->shortlist,
               "each translation has only N tokens of the vocabulary, 100 of them the same for all, the others drawn "
               "at random; 0: all"),
           flag("--json", *json, "print one JSON object")},
      .run =
          [options, json] {
            const DecodeBenchReport report = bench_decode(*options);
            *json ? print_json(report) : print_text(report);
          },
  };
}

Command bench_generate_command() {
  const auto options = std::make_shared<GenerateBenchOptions>();
  const auto json = std::make_shared<bool>(false);
  return {
      .name = "generate",
      .summary = "time reading a prompt and generating tokens, with random weights",
      .options =
          {required(option("--shape NAME", options->shape,
                           fmt::format("one of {}", fmt::join(generate_bench_shapes(), ", ")))),
           option("--precision NAME", options->precision, kPrecisionNames, "f32, bf16 or auto"),
           option("--weights FORM", options->weights, kMatrixFormNames,
                  "the matrices' form: the precision, or int8 or int4 with activations quantized as they are computed"),
           option("--cache TYPE", options->cache, kCacheTypeNames,
                  "key-value cache in bf16 or int8; auto: as --precision"),
           option("--threads N", options->threads, "threads to use; 0: one per processor"),
           option("--streams N...", options->streams, "sequences generated together; by default 1, then 8, then 64"),
           option("--prompt N", options->prompt, "tokens of the prompt, at most half the context"),
           option("--tokens N", options->tokens, "timed tokens per stream"),
           flag("--json", *json, "print one JSON object")},
      .run =
          [options, json] {
            const GenerateBenchReport report = bench_generate(*options);
            *json ? print_json(report) : print_text(report);
          },
  };
}

void print_json(const EmbedBenchReport& report) {
  std::string cases;
  for (const EmbedBenchCase& bench_case : report.cases) {
    cases += fmt::format(
        "{}{{\"case\": \"{}x{}\", \"best_seconds\": {:.6g}, \"seconds\": {:.6g}, \"processor_seconds\": {:.6g}, "
        "\"ops\": {}}}",
        cases.empty() ? "" : ", ", bench_case.texts, bench_case.tokens, bench_case.best_seconds, bench_case.seconds,
        bench_case.processor_seconds, json_of(bench_case.ops));
  }
  put("{{\"precision\": \"{}\", \"weights\": \"{}\", \"threads\": {}, \"parameters\": {}, "
      "\"peak_memory_bytes\": {}, \"cases\": [{}]}}\n",
      name_of(report.precision), name_among(kMatrixFormNames, report.weights), report.threads, report.parameters,
      report.peak_memory_bytes, cases);
}

void print_text(const EmbedBenchReport& report) {
  put("{}\n", report.setup);
  put("{} parameters, {}, weights in {}, {}\n\n", report.parameters, name_of(report.precision),
      report.weights == MatrixForm::precision ? name_of(report.precision)
                                              : name_among(kMatrixFormNames, report.weights),
      counted(report.threads, "thread"));
  put("{:>7} {:>7} {:>10} {:>10} {:>10}\n", "texts", "tokens", "best ms", "median ms", "texts/s");
  for (const EmbedBenchCase& bench_case : report.cases) {
    put("{:>7} {:>7} {:>10.2f} {:>10.2f} {:>10.0f}\n", bench_case.texts, bench_case.tokens,
        1e3 * bench_case.best_seconds, 1e3 * bench_case.seconds,
        static_cast<double>(bench_case.texts) / bench_case.seconds);
  }
  for (const EmbedBenchCase& bench_case : report.cases) {
    print_ops(bench_case.ops, fmt::format("{} of {} tokens", counted(bench_case.texts, "text"), bench_case.tokens));
  }
}

Command bench_embed_command() {
  const auto options = std::make_shared<EmbedBenchOptions>();
  const auto json = std::make_shared<bool>(false);
  return {
      .name = "embed",
      .summary = "time embedding texts, from their tokens on, with random weights",
      .options =
          {required(
               option("--shape NAME", options->shape, fmt::format("one of {}", fmt::join(embed_bench_shapes(), ", ")))),
           option("--precision NAME", options->precision, kPrecisionNames, "f32, bf16 or auto"),
           option("--weights FORM", options->weights, kMatrixFormNames,
                  "the matrices' form: the precision, or int8 or int4 with activations quantized as they are computed"),
           option("--threads N", options->threads, "threads to use; 0: one per processor"),
           option(
               "--cases TEXTSxTOKENS...", options->cases,
               fmt::format("texts that are embedded together; by default {}", fmt::join(kEmbedBenchCases, ", then "))),
           option("--seconds N", options->seconds, "for each case"), flag("--json", *json, "print one JSON object")},
      .run =
          [options, json] {
            const EmbedBenchReport report = bench_embed(*options);
            *json ? print_json(report) : print_text(report);
          },
  };
}

}  // namespace

Command bench_command() {
  const auto options = std::make_shared<TrainBenchOptions>();
  const auto json = std::make_shared<bool>(false);
  Command train{
      .name = "train",
      .summary = "time whole optimizer steps, on random tokens",
      .options = {required(option("--shape NAME", options->shape,
                                  fmt::format("one of {}", fmt::join(train_bench_shapes(), ", ")))),
                  option("--precision NAME", options->precision, kPrecisionNames, "f32, bf16 or auto"),
                  option("--threads N", options->threads, "threads to use; 0: one per processor"),
                  option("--device NAME", options->device, "cpu, cuda, or cuda:N for another NVIDIA GPU"),
                  option("--adapter RANK", options->adapter_rank,
                         "train low-rank adapters of this rank alone, the weights frozen; 0: all weights"),
                  option("--matrices PATTERN", options->adapter_matrices,
                         "matrices that get an adapter; by default those of attention"),
                  option("--sequences N", options->sequences, "sequences of a batch; 0: as many as the shape has"),
                  option("--steps N", options->steps, "timed steps; 0: as many as take about ten seconds"),
                  option("--warmup N", options->warmup_steps, "steps before the timed ones"),
                  flag("--json", *json, "print one JSON object")},
      .run =
          [options, json] {
            const TrainBenchReport report = bench_train(*options);
            *json ? print_json(report) : print_text(report);
          },
  };
  return {.name = "bench",
          .summary = "measure speed on this machine",
          .commands = {std::move(train), bench_generate_command(), bench_decode_command(), bench_embed_command()}};
}

}  // namespace heed::cli
