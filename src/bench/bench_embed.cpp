#include <algorithm>
#include <charconv>
#include <ctime>

#include "base/median.h"
#include "base/system/clock.h"
#include "base/system/memory.h"
#include "base/system/threads.h"
#include "base/text/names.h"
#include "bench/bench.h"
#include "bench/op_shares.h"
#include "bench/random_model.h"
#include "encode/text_readings.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/precision.h"
#include "kernels/profiled_backend.h"

namespace heed {
namespace {

constexpr uint64_t kEmbedSeed = 1;
constexpr size_t kLeastRuns = 5;  // of a case

struct EmbedShape {
  std::string name;
  ModelConfig config;
};

ModelConfig bert(int64_t model, int64_t layers) {
  ModelConfig config{.architecture = Architecture::encoder,
                     .model = model,
                     .inner = 4 * model,
                     .heads = 12,
                     .encoder_layers = layers,
                     .source_vocabulary = 30522,
                     .max_length = 512,
                     .activation = Activation::gelu,
                     .positions = Positions::learned};
  config.head = Head::none;
  config.output_bias = Bias::none;
  config.token_types = 2;
  config.placement = NormPlacement::post;
  config.final_norm = FinalNorm::none;
  config.embedding_norm = EmbeddingNorm::present;
  config.embedding_scale = EmbeddingScale::none;
  config.epsilon = 1e-12;
  return config;
}

const std::vector<EmbedShape>& embed_shapes() {
  static const std::vector<EmbedShape> kAll{{"minilm", bert(384, 6)}, {"bert-base", bert(768, 12)}};
  return kAll;
}

const EmbedShape& embed_shape_named(const std::string& name) {
  const auto it = std::ranges::find(embed_shapes(), name, &EmbedShape::name);
  if (it == embed_shapes().end()) {
    const std::vector<std::string> names = embed_bench_shapes();
    fail<ConfigError>("bench", "there is no shape '{}'{}; the shapes are {}", name,
                      suggest_name(name, {names.begin(), names.end()}), fmt::join(names, ", "));
  }
  return *it;
}

// "128x16": texts, and tokens of each.
EmbedBenchCase parse_case(const std::string& text, int64_t max_length) {
  constexpr int64_t kMaxTexts = 65536;
  EmbedBenchCase found;
  const char* const end = text.data() + text.size();
  const auto texts = std::from_chars(text.data(), end, found.texts);
  const bool has_cross = texts.ec == std::errc() && texts.ptr != end && *texts.ptr == 'x';
  const bool whole = has_cross && std::from_chars(texts.ptr + 1, end, found.tokens).ptr == end;
  require<ConfigError>(
      whole && found.texts >= 1 && found.texts <= kMaxTexts && found.tokens >= 1 && found.tokens <= max_length, "bench",
      "'{}', expected TEXTSxTOKENS, with 1 to {} texts of 1 to {} tokens", text, kMaxTexts, max_length);
  return found;
}

std::vector<EncodedText> random_texts(const EmbedBenchCase& bench_case, int64_t vocabulary) {
  std::vector<EncodedText> texts(static_cast<size_t>(bench_case.texts));
  uint64_t draw = 0;
  for (EncodedText& text : texts) {
    for (int64_t i = 0; i < bench_case.tokens; ++i) {
      const double share = uniform_draw(RandomKey{kEmbedSeed}, draw++);
      text.ids.push_back(static_cast<int32_t>(share * static_cast<double>(vocabulary)));
    }
    text.types.resize(text.ids.size(), 0);
  }
  return texts;
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void measure(TextReader& reader, double seconds, EmbedBenchCase& bench_case) {
  const std::vector<EncodedText> texts = random_texts(bench_case, reader.model().config().source_vocabulary);
  const auto run = [&] { (void)embeddings(reader, texts, {}); };
  run();
  run();
  std::vector<double> times, processor_times;
  for (const double end = seconds_now() + seconds; seconds_now() < end || times.size() < kLeastRuns;) {
    const double begin = seconds_now(), processor_begin = processor_seconds();
    run();
    times.push_back(seconds_now() - begin);
    processor_times.push_back(processor_seconds() - processor_begin);
  }
  bench_case.processor_seconds = *std::ranges::min_element(processor_times);
  bench_case.best_seconds = *std::ranges::min_element(times);
  bench_case.seconds = median(times);
}

// Where the time goes in one pass over the texts, by all threads.
std::vector<BenchOp> profiled_ops(const RandomModel& model, Backend& backend, DType storage,
                                  const EmbedBenchCase& bench_case) {
  Profile profile;
  profile.records = false;
  const auto profiled = make_profiled_backend(backend, profile);
  const Inference inference = model.on(*profiled);
  const std::vector<EncodedText> texts = random_texts(bench_case, inference.model.config().source_vocabulary);
  std::vector<const EncodedText*> batch;
  std::ranges::transform(texts, std::back_inserter(batch), [](const EncodedText& text) { return &text; });
  const Sequences sequences = sequences_of(batch, inference.model.config().token_types);
  for (int i = 0; i < 3; ++i) {
    profile.records = i > 0;
    Pass pass = Pass::infer(*profiled, storage);
    (void)inference.model.encoder_only().text_embeddings(pass, sequences, Pooling::mean);
  }
  return op_shares(profile, 2);
}

}  // namespace

std::vector<std::string> embed_bench_shapes() {
  std::vector<std::string> names;
  std::ranges::transform(embed_shapes(), std::back_inserter(names), &EmbedShape::name);
  return names;
}

EmbedBenchReport bench_embed(const EmbedBenchOptions& options) {
  const EmbedShape& shape = embed_shape_named(options.shape);
  const DType storage = inference_type(options.precision);
  require<ConfigError>(options.seconds > 0.0, "bench", "{} seconds, expected more than 0", options.seconds);
  std::vector<EmbedBenchCase> cases;
  for (const std::string& name : options.cases.empty() ? kEmbedBenchCases : options.cases) {
    cases.push_back(parse_case(name, shape.config.max_length));
  }
  const std::unique_ptr<Backend> backend = make_cpu_backend(thread_count(options.threads));
  const RandomModel model(*backend, shape.config, storage, options.weights, kEmbedSeed);
  const Inference inference = model.on(*backend);
  TextReader reader(inference.model, storage, *backend);
  EmbedBenchReport report{
      .setup = fmt::format("{}: encoder, model {}, inner {}, heads {}, layers {}, vocabulary {}", shape.name,
                           shape.config.model, describe(shape.config.inner), shape.config.heads,
                           shape.config.encoder_layers, shape.config.source_vocabulary),
      .precision = precision_of(storage),
      .weights = options.weights,
      .threads = backend->threads(),
      .parameters = model.parameters()};
  for (EmbedBenchCase& bench_case : cases) {
    measure(reader, options.seconds, bench_case);
    bench_case.ops = profiled_ops(model, *backend, storage, bench_case);
    report.cases.push_back(std::move(bench_case));
  }
  report.peak_memory_bytes = peak_memory_bytes();
  return report;
}

}  // namespace heed
