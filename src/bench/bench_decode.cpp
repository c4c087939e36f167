#include <algorithm>
#include <cmath>

#include "base/median.h"
#include "base/rounding.h"
#include "base/system/clock.h"
#include "base/system/memory.h"
#include "base/system/threads.h"
#include "bench/bench.h"
#include "bench/op_shares.h"
#include "bench/random_model.h"
#include "bench/roofline.h"
#include "bench/train_shapes.h"
#include "decode/texts/translation/translation.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/precision.h"
#include "kernels/lanes.h"
#include "kernels/profiled_backend.h"

namespace heed {
namespace {

constexpr uint64_t kDecodeSeed = 1;
constexpr int64_t kShortest = 6, kLongest = 30;  // sources, in tokens
constexpr int64_t kOutput = 16;                  // tokens of each translation, its end included
constexpr size_t kBatch = 32;
constexpr size_t kAlone = 100;  // sentences that are translated one by one
constexpr int kDecodeRounds = 3;

using Sentences = std::vector<std::vector<int32_t>>;

// Longest first, as text is batched.
Sentences random_sources(int64_t count, int64_t vocabulary) {
  const RandomKey key = RandomKey{kDecodeSeed}.derive("sources");
  uint64_t draw = 0;
  const auto below = [&](int64_t limit) {
    return static_cast<int64_t>(uniform_draw(key, draw++) * static_cast<double>(limit));
  };
  Sentences sources(static_cast<size_t>(count));
  for (auto& source : sources) {
    source.resize(static_cast<size_t>(kShortest + below(kLongest - kShortest + 1)));
    std::ranges::generate(source, [&] { return static_cast<int32_t>(below(vocabulary)); });
  }
  std::ranges::stable_sort(sources, std::ranges::greater(), &std::vector<int32_t>::size);
  return sources;
}

// Lists of `count` tokens: the first of the vocabulary, the end among them, and others at random. 0: no lists.
Sentences random_candidates(size_t sentences, int64_t count, int64_t vocabulary) {
  constexpr int64_t kSharedTokens = 100;
  const RandomKey key = RandomKey{kDecodeSeed}.derive("candidates");
  uint64_t draw = 0;
  Sentences candidates(count == 0 ? 0 : sentences);
  for (auto& tokens : candidates) {
    std::vector<bool> taken(static_cast<size_t>(vocabulary), false);
    std::fill_n(taken.begin(), std::min(count, kSharedTokens), true);
    for (int64_t more = count - kSharedTokens; more > 0;) {
      const auto token = static_cast<size_t>(uniform_draw(key, draw++) * static_cast<double>(vocabulary));
      more -= taken[token] ? 0 : 1;
      taken[token] = true;
    }
    for (int32_t token = 0; token < static_cast<int32_t>(vocabulary); ++token) {
      if (taken[static_cast<size_t>(token)]) {
        tokens.push_back(token);
      }
    }
  }
  return candidates;
}

// What is translated together, perhaps with candidates.
struct SentenceBatch {
  Sentences sources, candidates;
};

// Every translation ends when it is as long as the others.
void translate(const Inference& inference, const SentenceBatch& batch, int64_t beam) {
  const SearchRules rules{.tokens = {.suppressed = {TokenRules().eos}}};
  const TranslationOptions options{.beam = beam, .max_length = kOutput};
  for (const auto& found : translate_tokens(inference, batch.sources, options, rules, batch.candidates)) {
    ensure(found.front().tokens.size() + 1 == static_cast<size_t>(kOutput), "bench", "a translation of {} tokens",
           found.front().tokens.size() + 1);
  }
}

class DecodeBench {
 public:
  DecodeBench(Backend& backend, const RandomModel& model, SentenceBatch all)
      : backend_(backend), model_(model), lanes_(backend), all_(std::move(all)) {}

  double seconds_of_all(int64_t beam) {
    const double begin = seconds_now();
    lanes_.run(ceil_div(all_.sources.size(), kBatch),
               [&](size_t b, Backend& lane) { translate(model_.on(lane), batch(b), beam); });
    return seconds_now() - begin;
  }

  // One sentence after another, with all threads.
  std::vector<double> seconds_alone() {
    std::vector<double> seconds;
    const size_t count = std::min(kAlone, all_.sources.size());
    for (size_t i = 0; i < count; ++i) {
      const double begin = seconds_now();
      const size_t first = i * all_.sources.size() / count;
      translate(model_.on(backend_), range(first, first + 1), 1);
      seconds.push_back(seconds_now() - begin);
    }
    return seconds;
  }

  // What one lane computes for one batch in the middle, in memory that it has used before.
  Profile profile(int64_t beam) const {
    const std::unique_ptr<Backend> lane = backend_.make_lane();
    const SentenceBatch middle = batch(all_.sources.size() / kBatch / 2);
    translate(model_.on(*lane), middle, beam);
    Profile profile;
    translate(model_.on(*make_profiled_backend(*lane, profile)), middle, beam);
    return profile;
  }

  // One sentence of medium length, with all threads.
  Profile profile_alone() const {
    Profile profile;
    const size_t middle = all_.sources.size() / 2;
    translate(model_.on(*make_profiled_backend(backend_, profile)), range(middle, middle + 1), 1);
    return profile;
  }

  double batches() const { return std::ceil(static_cast<double>(all_.sources.size()) / static_cast<double>(kBatch)); }
  int64_t tokens() const { return static_cast<int64_t>(all_.sources.size()) * kOutput; }

 private:
  SentenceBatch batch(size_t b) const { return range(b * kBatch, std::min(b * kBatch + kBatch, all_.sources.size())); }
  SentenceBatch range(size_t begin, size_t end) const {
    const auto part = [&](const Sentences& all) {
      return all.empty()
                 ? Sentences{}
                 : Sentences(all.begin() + static_cast<int64_t>(begin), all.begin() + static_cast<int64_t>(end));
    };
    return {part(all_.sources), part(all_.candidates)};
  }

  Backend& backend_;
  const RandomModel& model_;
  Lanes lanes_;
  SentenceBatch all_;
};

// How long the products of a profile take by the yardstick, on one thread.
double product_seconds(const Profile& profile, DType type) {
  double seconds = 0.0;
  for (const auto& [shape, count] : profile.products) {
    seconds += best_product(shape, type, 1).seconds * static_cast<double>(count);
  }
  return seconds;
}

// Translations and yardsticks alternate.
DecodeBenchRow measure(DecodeBench& bench, int64_t beam, DType yardstick, int threads) {
  const Profile profile = bench.profile(beam);
  std::vector<double> seconds, products, reading;
  for (int round = 0; round < kDecodeRounds; ++round) {
    seconds.push_back(bench.seconds_of_all(beam));
    products.push_back(product_seconds(profile, yardstick) * bench.batches() / threads);
    reading.push_back(profile.weight_bytes * bench.batches() / read_rate(threads));
  }
  DecodeBenchRow row{.beam = beam, .seconds = median(seconds), .limits = {median(reading), median(products)}};
  row.tokens_per_second = static_cast<double>(bench.tokens()) / row.seconds;
  row.share = row.limits.seconds() / row.seconds;
  row.ops = op_shares(profile);
  return row;
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

void measure_alone(DecodeBench& bench, const ModelConfig& config, DType yardstick, DecodeBenchReport& report) {
  const auto product = [&] { return product_rate(config.inner.of(0), config.model, yardstick, report.threads); };
  const double product_before = product(), read_before = read_rate(report.threads);
  const std::vector<double> alone = bench.seconds_alone();
  const double product_best = std::max(product_before, product());
  const double read_best = std::max(read_before, read_rate(report.threads));
  const Profile profile = bench.profile_alone();
  report.alone_median_seconds = median(alone);
  report.alone_99_percent_seconds = quantile(alone, 0.99);
  report.alone_limits = {profile.weight_bytes / read_best, profile.flops() / product_best};
  report.alone_share = report.alone_limits.seconds() / report.alone_median_seconds;
}

}  // namespace

std::vector<std::string> decode_bench_shapes() {
  std::vector<std::string> names;
  for (const BenchShape& shape : bench_shapes()) {
    if (shape.architecture == Architecture::seq2seq) {
      names.push_back(shape.name);
    }
  }
  return names;
}

DecodeBenchReport bench_decode(const DecodeBenchOptions& options) {
  BenchShape shape = shape_named(options.shape, decode_bench_shapes());
  require<ConfigError>(options.sentences >= 1, "bench", "{} sentences, expected at least 1", options.sentences);
  require<ConfigError>(options.shortlist >= 0 && options.shortlist <= shape.vocabulary, "bench",
                       "a shortlist of {} tokens, expected 1 to the vocabulary of {}, or 0 for none", options.shortlist,
                       shape.vocabulary);
  shape.length = std::max(kLongest, kOutput);
  const DType storage = inference_type(options.precision);
  const std::unique_ptr<Backend> backend = make_cpu_backend(thread_count(options.threads));
  const ModelConfig config = config_of(shape);
  const RandomModel model(*backend, config, storage, options.weights, kDecodeSeed);
  Sentences sources = random_sources(options.sentences, config.source_vocabulary);
  Sentences candidates = random_candidates(sources.size(), options.shortlist, config.target_vocabulary);
  DecodeBench bench(*backend, model, {std::move(sources), std::move(candidates)});
  DecodeBenchReport report{
      .setup = fmt::format("{}: encoder-decoder, model {}, inner {}, heads {}, layers {}+{}, "
                           "vocabulary {}; {} sources of {} to {} tokens, {} tokens out, batches "
                           "of {}{}",
                           shape.name, shape.model, shape.inner, shape.heads, shape.layers, shape.layers,
                           shape.vocabulary, options.sentences, kShortest, kLongest, kOutput, kBatch,
                           options.shortlist == 0 ? "" : fmt::format("; {} candidates each", options.shortlist)),
      .precision = precision_of(storage),
      .weights = options.weights,
      .threads = backend->threads(),
      .parameters = model.parameters(),
      .weight_bytes = model.bytes_of_a_step()};
  bench.seconds_alone();  // warms up
  report.peak_memory_bytes = peak_memory_bytes();
  const DType yardstick = options.weights == MatrixForm::precision ? storage : DType::i8;
  for (const int64_t beam : {1, 4}) {
    report.rows.push_back(measure(bench, beam, yardstick, report.threads));
  }
  measure_alone(bench, config, yardstick, report);
  return report;
}

}  // namespace heed
