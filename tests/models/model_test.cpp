#include "kernels/cpu/cpu_backend.h"
#include "models/model_testing.h"

namespace heed::test {
namespace {

ModelConfig llama_like() {
  ModelConfig c = small_config(Architecture::causal_lm);
  c.heads = 4;
  c.key_value_heads = 2;
  c.positions = Positions::rotary;
  c.norm = NormKind::rms;
  c.gating = Gating::gated;
  c.activation = Activation::silu;
  c.bias = Bias::none;
  c.output_bias = Bias::none;
  c.tying = Tying::output;
  c.window = 3;
  c.embedding_scale = EmbeddingScale::none;
  c.init = InitScheme::normal;
  c.init_deviation = 0.3;
  return c;
}

ModelConfig with_positions(Architecture architecture, Positions positions) {
  ModelConfig c = small_config(architecture);
  c.positions = positions;
  c.relative_buckets = 4;
  c.relative_max_distance = 3;
  c.relative_clip = 2;
  return c;
}

ModelConfig yarn_of_half_a_head() {
  ModelConfig c = with_positions(Architecture::seq2seq, Positions::rotary);
  c.rotary_width = 2;
  c.rotary_scaling = RotaryScaling::yarn;
  c.rotary_factor = 4.0;
  return c;
}

std::vector<NamedConfig> variants() {
  ModelConfig post = small_config(Architecture::seq2seq), tied = post, encoder = small_config(Architecture::encoder);
  post.placement = NormPlacement::post;
  post.final_norm = FinalNorm::none;
  post.positions = Positions::learned;
  tied.tying = Tying::all;
  tied.target_vocabulary = tied.source_vocabulary;
  tied.recompute = Recompute::layers;
  encoder.activation = Activation::gelu;
  encoder.tying = Tying::output;
  ModelConfig recomputed_bias = with_positions(Architecture::seq2seq, Positions::relative_bias);
  recomputed_bias.recompute = Recompute::layers;
  ModelConfig patterns = small_config(Architecture::seq2seq);
  const HeadPattern local{HeadPattern::Kind::local, 2}, strided{HeadPattern::Kind::strided, 2};
  patterns.attention = {{local, strided}, {{}}};
  ModelConfig gemma = llama_like(), capped = small_config(Architecture::seq2seq), bert = encoder;
  gemma.head_norm = HeadNorm::each_head;
  gemma.epsilon = 0.1;  // heads have two columns: where both are small, differences are of a steep function
  gemma.logit_cap = 1.5;
  gemma.attention_cap = 0.8;
  gemma.placement = NormPlacement::sandwich;
  gemma.recompute = Recompute::layers;
  capped.head_norm = HeadNorm::all_heads;
  capped.logit_cap = 2.0;
  capped.attention_cap = 0.8;
  capped.value_width = 3;
  capped.embedding_norm = EmbeddingNorm::present;
  capped.init = InitScheme::pytorch;
  bert.placement = NormPlacement::post;
  bert.final_norm = FinalNorm::none;
  bert.embedding_norm = EmbeddingNorm::present;
  bert.head_norm = HeadNorm::each_head;
  bert.tying = Tying::none;
  bert.init = InitScheme::xavier_all;
  ModelConfig sandwich = small_config(Architecture::seq2seq), parallel = llama_like(), branch = encoder;
  sandwich.placement = NormPlacement::sandwich;
  sandwich.attention_bias = AttentionBias::inputs;
  sandwich.feed_forward_bias = PartBias::none;
  parallel.branches = Branches::parallel;
  parallel.recompute = Recompute::layers;
  branch.placement = NormPlacement::branch;
  branch.bias = Bias::none;
  branch.norm_bias = PartBias::all;
  ModelConfig own_norms = llama_like(), neox = encoder, layers_differ = llama_like();
  own_norms.branches = neox.branches = Branches::parallel_own_norms;
  own_norms.recompute = Recompute::layers;
  layers_differ.key_value_heads = {1, 4};
  layers_differ.inner = {12, 6};
  layers_differ.rotary_base = {50.0, 0.0};
  ModelConfig stacks_differ = with_positions(Architecture::seq2seq, Positions::rotary);
  stacks_differ.encoder_attention = std::vector<LayerPattern>{{local}};
  stacks_differ.key_value_heads = {2, 1};
  stacks_differ.inner = {6, 12};
  ModelConfig grouped_keys = with_positions(Architecture::causal_lm, Positions::relative_keys);
  grouped_keys.key_value_heads = 1;
  ModelConfig recomputed_values = with_positions(Architecture::causal_lm, Positions::relative_keys_values);
  recomputed_values.recompute = Recompute::layers;
  recomputed_values.value_width = 3;
  ModelConfig linear = small_config(Architecture::causal_lm), linear_encoder = encoder;
  const LayerPattern linear_layer{HeadPattern{HeadPattern::Kind::linear}};
  linear.attention = {linear_layer, {local}};
  linear_encoder.attention = std::vector<LayerPattern>{linear_layer};
  ModelConfig marian = post, t5 = with_positions(Architecture::seq2seq, Positions::relative_bias), gemma3 = gemma;
  marian.positions = Positions::sinusoidal;
  marian.sinusoid = SinusoidLayout::halves_inclusive;
  marian.position_offset = 2;
  marian.output_scale = 0.5;
  t5.attention_scale = 1.0;
  t5.output_scale = 0.35;
  t5.norm = NormKind::rms;
  t5.norm_gain = NormGain::plus_one;
  t5.recompute = Recompute::layers;
  gemma3.attention_scale = 0.4;
  gemma3.norm_gain = NormGain::plus_one;
  ModelConfig roberta = bert, scaled_keys = grouped_keys;
  roberta.positions = Positions::learned;
  roberta.position_offset = 2;
  roberta.norm_gain = NormGain::plus_one;
  scaled_keys.attention_scale = 0.3;
  gemma3.rotary_scaling = RotaryScaling::linear;
  gemma3.rotary_factor = {1.0, 8.0};
  gemma3.rotary_base = {50.0, 5000.0};
  ModelConfig llama3 = llama_like();
  llama3.rotary_scaling = RotaryScaling::llama3;
  llama3.rotary_factor = 4.0;
  llama3.rotary_trained_length = 12;
  llama3.rotary_slow_turns = 0.5;
  llama3.rotary_fast_turns = 1.5;
  llama3.rotary_magnitude = 1.2;
  ModelConfig albert = bert, electra = bert,
              mpnet = with_positions(Architecture::encoder, Positions::learned_relative_bias);
  albert.positions = Positions::learned;
  albert.shared_layers = SharedLayers::yes;
  albert.embedding_width = 6;
  albert.head_layer = Activation::gelu_tanh;
  albert.head_layer_norm = HeadLayerNorm::present;
  albert.tying = Tying::output;
  electra.embedding_width = 10;
  electra.head_layer = Activation::tanh;
  mpnet.head_layer = Activation::silu;
  mpnet.head_layer_norm = HeadLayerNorm::present;
  mpnet.position_offset = 2;
  ModelConfig shared = small_config(Architecture::seq2seq);
  shared.shared_layers = SharedLayers::yes;
  shared.recompute = Recompute::layers;
  ModelConfig recurrent = post;
  recurrent.autoregression = Autoregression::ssru;
  ModelConfig recomputed_recurrence = small_config(Architecture::seq2seq);
  recomputed_recurrence.autoregression = Autoregression::ssru;
  recomputed_recurrence.recompute = Recompute::layers;
  recomputed_recurrence.bias = Bias::none;
  ModelConfig small_research = llama_like();
  small_research.decoder_layers = 5;
  small_research.activation = Activation::relu_squared;
  small_research.epsilon = 0.1;  // or some rows are so small that differences are of a steep function
  small_research.value_embeddings = {1, 2, 0, 2, 1};
  small_research.skips = Skips::mirrored;
  small_research.recompute = Recompute::layers;
  ModelConfig bigrams = small_config(Architecture::causal_lm), hashed_bigrams = llama_like();
  bigrams.bigrams = 13 * 14;
  bigrams.tying = Tying::output;
  hashed_bigrams.bigrams = 20;
  hashed_bigrams.embedding_norm = EmbeddingNorm::present;
  hashed_bigrams.recompute = Recompute::layers;
  ModelConfig skipping_pairs = sandwich, skipping_encoder = encoder;
  skipping_pairs.encoder_layers = skipping_encoder.encoder_layers = 4;
  skipping_pairs.decoder_layers = 3;
  skipping_pairs.value_embeddings = skipping_encoder.value_embeddings = 1;
  skipping_pairs.skips = skipping_encoder.skips = Skips::mirrored;
  skipping_encoder.branches = Branches::parallel;
  return {{"CausalLMValueEmbeddingsAndSkipsRecomputed", small_research},
          {"Seq2SeqValueEmbeddingsAndSkips", skipping_pairs},
          {"EncoderOnlyValueEmbeddingsAndSkips", skipping_encoder},
          {"CausalLMARowForEachBigram", bigrams},
          {"CausalLMHashedBigramsRecomputed", hashed_bigrams},
          {"Seq2SeqRecurrentPostNorm", recurrent},
          {"Seq2SeqRecurrentRecomputed", recomputed_recurrence},
          {"EncoderOnlySharedLayersOfNarrowEmbeddings", albert},
          {"EncoderOnlyNarrowEmbeddings", electra},
          {"EncoderOnlyLearnedPositionsAndRelativeBias", mpnet},
          {"Seq2SeqSharedLayersRecomputed", shared},
          {"CausalLMLlama3Scaling", llama3},
          {"Seq2SeqInclusiveHalvesAndScaledOutput", marian},
          {"Seq2SeqScaledScoresAndOutputAndGainsAboveOne", t5},
          {"CausalLMScaledScoresAndGainsAboveOne", gemma3},
          {"EncoderOnlyPositionsFromTwo", roberta},
          {"CausalLMScaledRelativeKeys", scaled_keys},
          {"Seq2SeqPatterns", patterns},
          {"CausalLMLinearAndLocal", linear},
          {"EncoderOnlyLinear", linear_encoder},
          {"Seq2Seq", small_config(Architecture::seq2seq)},
          {"Seq2SeqPostNorm", post},
          {"Seq2SeqTiedAndCheckpointed", tied},
          {"CausalLM", small_config(Architecture::causal_lm)},
          {"CausalLMGroupedRotaryGated", llama_like()},
          {"EncoderOnly", encoder},
          {"Seq2SeqYarnOfHalfAHead", yarn_of_half_a_head()},
          {"Seq2SeqAlibi", with_positions(Architecture::seq2seq, Positions::alibi)},
          {"CausalLMAlibi", with_positions(Architecture::causal_lm, Positions::alibi)},
          {"EncoderOnlyRelativeBias", with_positions(Architecture::encoder, Positions::relative_bias)},
          {"CausalLMRelativeBias", with_positions(Architecture::causal_lm, Positions::relative_bias)},
          {"Seq2SeqRelativeBiasRecomputed", recomputed_bias},
          {"Seq2SeqRelativeKeys", with_positions(Architecture::seq2seq, Positions::relative_keys)},
          {"CausalLMRelativeKeysOfGroupedHeads", grouped_keys},
          {"Seq2SeqRelativeKeysAndValues", with_positions(Architecture::seq2seq, Positions::relative_keys_values)},
          {"CausalLMRelativeKeysAndValuesRecomputed", recomputed_values},
          {"Seq2SeqSandwichNorms", sandwich},
          {"CausalLMParallelAndRecomputed", parallel},
          {"CausalLMHeadNormsAndCap", gemma},
          {"Seq2SeqEmbeddingNormHeadNormsAndCap", capped},
          {"EncoderOnlyEmbeddingAndHeadNorms", bert},
          {"CausalLMParallelWithOwnNormsRecomputed", own_norms},
          {"EncoderOnlyParallelWithOwnNorms", neox},
          {"CausalLMLayersDiffer", layers_differ},
          {"Seq2SeqStacksAndLayersDiffer", stacks_differ},
          {"EncoderOnlyBranchNorms", branch}};
}

class Model : public ::testing::TestWithParam<NamedConfig> {};

TEST_P(Model, GradientsAgreeWithDifferences) {
  constexpr double kScale = 0.25;
  const auto backend = make_reference_backend();
  TestModel model(*backend, DType::f64, GetParam().config);
  const ModelBatch batch = ModelBatch::small();
  model.backward(batch, kScale);
  expect_gradients_of(model, kScale, [&] { return model.training_loss(batch); });
  EXPECT_EQ(backend->arena().bytes_in_use(), 0);
}

// One rounding is 6e-8; sums are short here.
TEST_P(Model, OnTheProcessorAgreesWithTheReference) {
  const auto reference = make_reference_backend();
  const auto cpu = make_cpu_backend(1);
  TestModel exact(*reference, DType::f64, GetParam().config), rounded(*cpu, DType::f32, GetParam().config);
  const ModelBatch batch = ModelBatch::small();
  EXPECT_NEAR(rounded.backward(batch), exact.backward(batch), 1e-4);
  for (const Weight& weight : exact.weights().all()) {
    const std::vector<double> expected = values_of(weight.trainable().gradient());
    const std::vector<double> found = values_of(rounded.trainables().find(weight.name()).gradient());
    double largest = 0.0, worst = 0.0;
    for (size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      worst = std::max(worst, std::abs(found[i] - expected[i]));
    }
    EXPECT_LE(worst, 3e-5 * (1e-2 + largest)) << weight.name();
  }
}

TEST_P(Model, TheSameStepGivesTheSameBitsOnAnyNumberOfThreads) {
  const ModelBatch batch = ModelBatch::small();
  for (const DType storage : {DType::f32, DType::bf16}) {
    std::vector<double> expected;
    for (const int threads : {1, 1, 2}) {
      const auto backend = make_cpu_backend(threads);
      TestModel model(*backend, storage, GetParam().config);
      for (int step = 0; step < 2; ++step) {
        const double loss = model.backward(batch);
        std::vector<double> found = model.gradients();
        found.push_back(loss);
        if (expected.empty()) {
          expected = found;
        }
        EXPECT_TRUE(same_bits(found, expected)) << name_of(storage) << ", " << threads << " threads, step " << step;
      }
      EXPECT_EQ(backend->arena().bytes_in_use(), 0);
    }
  }
}

TEST_P(Model, RecomputingItsLayersChangesNoBit) {
  ModelConfig kept = GetParam().config, replayed = kept;
  kept.recompute = Recompute::nothing;
  replayed.recompute = Recompute::layers;
  const auto backend = make_cpu_backend(1);
  TestModel a(*backend, DType::f32, kept), b(*backend, DType::f32, replayed);
  const ModelBatch batch = ModelBatch::small();
  EXPECT_EQ(a.backward(batch), b.backward(batch));
  EXPECT_TRUE(same_bits(a.gradients(), b.gradients()));
}

INSTANTIATE_TEST_SUITE_P(Models, Model, ::testing::ValuesIn(variants()), name_of_case);

// ---- a sentence's result does not depend on the batch ----

std::vector<double> seq2seq_logits(const TestModel& model, Pass& pass, const TokenLists& sources,
                                   const TokenLists& targets, size_t wanted) {
  const SourceSequences source(sources);
  const TargetSequences target(targets);
  const Memory memory = model.seq2seq().encode(pass, source);
  const Logits logits = model.seq2seq().logits(pass, model.seq2seq().decode(pass, target, memory));
  const auto s = static_cast<int64_t>(wanted);
  return values_of(logits.var().value().row_range(target.segments().begin(s), target.segments().length(s)));
}

// Many sequences, so that rows are on either side of the border of every block in a kernel.
TokenLists random_lists(size_t count, uint64_t stream) {
  const RandomKey key = RandomKey{8}.derive(stream);
  TokenLists lists;
  uint64_t draw = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto length = static_cast<size_t>(1.0 + uniform_draw(key, draw++) * 14.0);
    std::vector<int32_t> list;
    for (size_t t = 0; t < length; ++t) {
      list.push_back(static_cast<int32_t>(uniform_draw(key, draw++) * 11.0));
    }
    lists.push_back(std::move(list));
  }
  return lists;
}

TEST(BatchComposition, DoesNotChangeABitOfASequencesLogits) {
  ModelConfig config = small_config(Architecture::seq2seq);
  config.model = 64;
  config.inner = 96;
  config.heads = 4;
  const TokenLists sources = random_lists(23, 1), targets = random_lists(23, 2);
  const TokenLists reversed_sources(sources.rbegin(), sources.rend()),
      reversed_targets(targets.rbegin(), targets.rend());
  for (const DType storage : {DType::f32, DType::bf16}) {
    for (const int threads : {1, 2}) {
      const auto backend = make_cpu_backend(threads);
      const TestModel model(*backend, storage, config);
      Pass pass = Pass::infer(*backend, storage);
      for (const size_t s : {size_t{0}, size_t{7}, size_t{22}}) {
        const auto alone = seq2seq_logits(model, pass, {sources[s]}, {targets[s]}, 0);
        const auto together = seq2seq_logits(model, pass, sources, targets, s);
        const auto backwards = seq2seq_logits(model, pass, reversed_sources, reversed_targets, 22 - s);
        EXPECT_TRUE(same_bits(alone, together)) << name_of(storage) << ", sequence " << s;
        EXPECT_TRUE(same_bits(alone, backwards)) << name_of(storage) << ", sequence " << s;
      }
    }
  }
}

// Causal: what follows a token does not change its logits.
TEST(CausalLM, APrefixHasTheSameLogitsAloneAsInTheWholeSequence) {
  const auto backend = make_reference_backend();
  const TestModel model(*backend, DType::f64, small_config(Architecture::causal_lm));
  Pass pass = Pass::infer(*backend, DType::f64);
  const auto logits = [&](const std::vector<int32_t>& tokens) {
    const Sequences sequences(TokenLists{tokens});
    const Logits z = model.causal_lm().logits(pass, model.causal_lm().hidden(pass, sequences));
    return values_of(z.var().value().row_range(0, 3));
  };
  EXPECT_EQ(logits({1, 2, 3}), logits({1, 2, 3, 4, 5}));
  EXPECT_NE(logits({1, 2, 3}), logits({9, 2, 3}));
}

// Dropout is on everywhere. A row's losses depend on the draws of all that it sees.
TEST_P(Model, AnUpdateDrawsTheSameInShardsAsInOneBatch) {
  const ModelBatch batch = ModelBatch::small();
  for (const DType storage : {DType::f32, DType::bf16}) {
    for (const int threads : {1, 2}) {
      const auto backend = make_cpu_backend(threads);
      TestModel model(*backend, storage, GetParam().config);
      const TokenLosses whole = model.contribute(batch);
      int64_t row = 0;
      for (const auto& [first, count] : {std::pair(0, 1), std::pair(1, 2)}) {
        const TokenLosses shard = model.contribute(batch.shard(first, count));
        for (int64_t r = 0; r < shard.rows(); ++r, ++row) {
          ASSERT_EQ(shard.smoothed(r), whole.smoothed(row)) << "row " << row << " on " << threads << " threads";
        }
      }
      EXPECT_EQ(row, whole.rows());
    }
  }
}

// The kernels add the gradients of tables and gains row by row: added to an existing sum, they would give other bits.
TEST_P(Model, TheGradientIsTheSumOfItsShardsCompleteGradientsInTheirOrder) {
  const ModelBatch batch = ModelBatch::small();
  for (const int threads : {1, 2}) {
    const auto backend = make_cpu_backend(threads);
    TestModel model(*backend, DType::f32, GetParam().config);
    std::vector<double> expected;
    for (const int64_t sentence : {0, 1, 2}) {
      model.backward(batch.shard(sentence, 1));
      const std::vector<double> gradients = model.gradients();
      expected.resize(gradients.size(), 0.0);
      for (size_t i = 0; i < gradients.size(); ++i) {
        expected[i] = static_cast<double>(static_cast<float>(expected[i]) + static_cast<float>(gradients[i]));
      }
    }
    for (int update = 0; update < 2; ++update) {
      model.trainables().begin_update();
      model.contribute(batch.shard(0, 1));
      for (const int64_t sentence : {1, 2}) {
        model.trainables().begin_shard(*backend);
        model.contribute(batch.shard(sentence, 1));
      }
      model.trainables().finish_update(*backend);
      EXPECT_TRUE(same_bits(model.gradients(), expected)) << "update " << update << " on " << threads << " threads";
    }
  }
}

TEST(Tying, SharesOneTableBetweenEmbeddingsAndOutput) {
  const auto count = [](Tying tying) {
    const auto backend = make_reference_backend();
    ModelConfig config = small_config(Architecture::seq2seq);
    config.target_vocabulary = config.source_vocabulary;
    config.tying = tying;
    return TestModel(*backend, DType::f64, config).weights().elements();
  };
  EXPECT_EQ(count(Tying::none) - count(Tying::output), 11 * 8);
  EXPECT_EQ(count(Tying::output) - count(Tying::all), 11 * 8);
}

}  // namespace
}  // namespace heed::test
