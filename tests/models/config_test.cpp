#include "models/config.h"

#include <array>

#include "base/system/files.h"
#include "models/config_keys.h"
#include "models/model_testing.h"
#include "source_root.h"

namespace heed::test {
namespace {

ModelConfig read_model(const std::string& toml, const std::string& name) {
  ModelConfig config;
  read_settings(toml, name, std::array{model_settings(config)});
  return config;
}

void expect_invalid(const std::function<void(ModelConfig&)>& spoil, const std::vector<std::string>& parts) {
  ModelConfig config = small_config(Architecture::seq2seq);
  config.validate();
  spoil(config);
  expect_error<ConfigError>([&] { config.validate(); }, parts);
}

TEST(ModelConfig, RefusesInconsistentValuesWithHelpfulMessages) {
  expect_invalid([](auto& c) { c.model = 512, c.heads = 7; }, {"heads 7 does not divide model 512"});
  expect_invalid([](auto& c) { c.heads = 4, c.key_value_heads = 3; }, {"key_value_heads 3 does not divide heads 4"});
  expect_invalid([](auto& c) { c.positions = Positions::rotary, c.head_width = 3; }, {"rotary", "3 columns"});
  expect_invalid([](auto& c) { c.model = 9, c.heads = 3; }, {"sinusoidal", "model is 9"});
  expect_invalid([](auto& c) { c.positions = Positions::rotary, c.rotary_width = 6; },
                 {"rotary_width is 6", "head has 4 columns"});
  expect_invalid([](auto& c) { c.positions = Positions::rotary, c.rotary_width = 3; }, {"rotary_width has 3 columns"});
  expect_invalid([](auto& c) { c.positions = Positions::rotary, c.rotary_factor = 2.0; },
                 {"rotary_factor is 2", "rotary_scaling is \"none\""});
  expect_invalid([](auto& c) { c.rotary_factor = 0.5; }, {"rotary_factor is 0.5", "at least 1"});
  expect_invalid([](auto& c) { c.rotary_factor = {1.0, 2.0, 4.0}; }, {"rotary_factor has 3 values for 2 layers"});
  expect_invalid(
      [](auto& c) {
        c.positions = Positions::rotary, c.rotary_scaling = RotaryScaling::llama3, c.rotary_factor = {1.0, 8.0};
      },
      {"rotary_factor differs by layer", "rotary_trained_length"});
  expect_invalid([](auto& c) { c.rotary_scaling = RotaryScaling::llama3, c.rotary_slow_turns = 4.0; },
                 {"rotary_slow_turns is 4, which is not below rotary_fast_turns 4"});
  expect_invalid([](auto& c) { c.rotary_magnitude = -1.0; }, {"rotary_magnitude is -1", "what the scaling has"});
  expect_invalid(
      [](auto& c) { c.positions = Positions::rotary, c.rotary_scaling = RotaryScaling::yarn, c.rotary_base = 1.0; },
      {"rotary_base is 1", "above 1"});
  expect_invalid(
      [](auto& c) {
        c.positions = Positions::relative_keys, c.attention = {{{HeadPattern::Kind::strided, 2}}};
      },
      {"\"relative-keys\"", "one pattern for all heads of a layer", "\"strided:2\""});
  expect_invalid(
      [](auto& c) { c.positions = Positions::relative_keys_values, c.attention = {{{HeadPattern::Kind::linear}}}; },
      {"attention \"linear\"", "positions can't depend on both"});
  expect_invalid([](auto& c) { c.relative_clip = 0; }, {"relative_clip is 0", "expected 1"});
  expect_invalid([](auto& c) { c.positions = Positions::relative_bias, c.relative_buckets = 30; },
                 {"relative_buckets is 30", "multiple of 4"});
  expect_invalid([](auto& c) { c.positions = Positions::relative_bias, c.relative_max_distance = 8; },
                 {"relative_max_distance is 8", "expected 9", "half of the 32 relative_buckets"});
  expect_invalid([](auto& c) { c.positions = Positions::relative_bias, c.relative_buckets = 262144; },
                 {"relative_buckets is 262144", "multiple of 4", "at most 262140"});
  expect_invalid(
      [](auto& c) {
        c.architecture = Architecture::causal_lm, c.positions = Positions::relative_bias, c.relative_buckets = 200000;
      },
      {"relative_buckets is 200000", "multiple of 2, at most 131070"});
  expect_invalid(
      [](auto& c) {
        c.architecture = Architecture::encoder, c.head = Head::one_label, c.labels = {"x", "y", "x"};
      },
      {"labels has 'x' twice"});
  expect_invalid([](auto& c) { c.tying = Tying::all; }, {"one vocabulary", "source has 11", "target 13"});
  expect_invalid([](auto& c) { c.architecture = Architecture::causal_lm, c.tying = Tying::all; }, {"seq2seq"});
}

TEST(ModelConfig, RefusesSkipsAndValueEmbeddingsThatDoNotFit) {
  expect_invalid([](auto& c) { c.skips = Skips::mirrored, c.placement = NormPlacement::post; },
                 {"skips add to a layer's input", "norm_placement"});
  expect_invalid([](auto& c) { c.skips = Skips::mirrored, c.shared_layers = SharedLayers::yes; },
                 {"skips tell layers apart", "shared_layers"});
  expect_invalid([](auto& c) { c.value_embeddings = -1; }, {"value_embeddings is -1", "expected 0"});
  expect_invalid([](auto& c) { c.value_embeddings = {1, 3}; }, {"table 3 but no table 2", "number them from 1"});
  expect_invalid([](auto& c) { c.value_embeddings = {1, 1, 1}; }, {"value_embeddings has 3 values for 2 layers"});
  expect_invalid(
      [](auto& c) {
        c.value_embeddings = 1, c.key_value_heads = {1, 2};
      },
      {"value_embeddings need the same key_value_heads"});
  expect_invalid([](auto& c) { c.value_embeddings = 1, c.autoregression = Autoregression::ssru; },
                 {"value_embeddings are added to values", "ssru"});
  expect_invalid(
      [](auto& c) {
        c.value_embeddings = {1, 0}, c.shared_layers = SharedLayers::yes;
      },
      {"shared_layers is true", "value_embeddings differs by layer"});
  ModelConfig config = small_config(Architecture::seq2seq);
  config.value_embeddings = {0, 0};
  EXPECT_FALSE(config.has_value_embeddings());
  config.value_embeddings = 1;
  EXPECT_THAT(obstacles_to_parts(config, 2), testing::Contains(testing::HasSubstr("value_embeddings")));
}

TEST(ModelConfig, RefusesBigramsOfOthersThanLanguageModels) {
  expect_invalid([](auto& c) { c.bigrams = -1; }, {"bigrams is -1", "expected 0"});
  for (const Architecture architecture : {Architecture::seq2seq, Architecture::encoder}) {
    expect_invalid([&](auto& c) { c.bigrams = 100, c.architecture = architecture; }, {"bigrams are for architecture"});
  }
  expect_invalid(
      [](auto& c) {
        c.bigrams = 100, c.architecture = Architecture::causal_lm, c.embedding_width = 4;
        c.positions = Positions::learned;
      },
      {"bigrams are for architecture", "without embedding_width"});
}

TEST(ModelConfig, RefusesNumbersOutsideTheirRange) {
  expect_invalid([](auto& c) { c.model = 0; }, {"model is 0", "expected 1"});
  expect_invalid([](auto& c) { c.encoder_layers = 0; }, {"encoder_layers is 0"});
  expect_invalid([](auto& c) { c.decoder_layers = 0; }, {"decoder_layers is 0"});
  expect_invalid([](auto& c) { c.source_vocabulary = 0; }, {"source_vocabulary is 0"});
  expect_invalid([](auto& c) { c.target_vocabulary = 0; }, {"target_vocabulary is 0"});
  expect_invalid([](auto& c) { c.branch_dropout = Probability{1.0F}; }, {"branch_dropout is 1"});
  expect_invalid([](auto& c) { c.inner_dropout = Probability{-0.1F}; }, {"inner_dropout is -0.1"});
  expect_invalid([](auto& c) { c.epsilon = 0.0; }, {"epsilon is 0"});
  expect_invalid([](auto& c) { c.logit_cap = -1.0; }, {"logit_cap is -1", "above 0, or 0 for none"});
  expect_invalid([](auto& c) { c.attention_cap = -50.0; }, {"attention_cap is -50", "above 0, or 0 for none"});
  expect_invalid([](auto& c) { c.head_layer = Activation::tanh; },
                 {"head_layer and text_width are for architecture \"encoder\""});
  expect_invalid([](auto& c) { c.embedding_width = 4; },
                 {"embedding_width is for architecture \"encoder\" and \"causal-lm\""});
  expect_invalid([](auto& c) { c.architecture = Architecture::causal_lm, c.embedding_width = 4; },
                 {"embedding_width", "does not go with positions \"sinusoidal\""});
  expect_invalid(
      [](auto& c) { c.architecture = Architecture::encoder, c.embedding_width = 4, c.tying = Tying::output; },
      {"embedding_width is 4, so tie needs a head_layer"});
  expect_invalid([](auto& c) { c.architecture = Architecture::encoder, c.embedding_width = 5; },
                 {"sinusoidal positions need an even width, but embedding_width is 5"});
  expect_invalid(
      [](auto& c) {
        c.shared_layers = SharedLayers::yes, c.inner = {12, 6};
      },
      {"shared_layers is true, but inner"});
  expect_invalid(
      [](auto& c) {
        c.shared_layers = SharedLayers::yes, c.attention = {{{HeadPattern::Kind::local, 2}}, {{}}};
      },
      {"shared_layers is true, but attention differs by layer"});
  expect_invalid([](auto& c) { c.architecture = Architecture::causal_lm, c.autoregression = Autoregression::ssru; },
                 {"autoregression = \"ssru\" is for the decoder of architecture \"seq2seq\""});
  expect_invalid([](auto& c) { c.autoregression = Autoregression::ssru, c.positions = Positions::alibi; },
                 {"autoregression = \"ssru\" forms no pairs", "\"learned\""});
  expect_invalid([](auto& c) { c.attention_scale = -1.0; }, {"attention_scale is -1", "or 0 for 1 / sqrt(head_width)"});
  expect_invalid([](auto& c) { c.output_scale = 0.0; }, {"output_scale is 0, expected above 0"});
  expect_invalid([](auto& c) { c.position_offset = -1; }, {"position_offset is -1", "expected 0"});
  expect_invalid([](auto& c) { c.attention_cap = 50.0, c.positions = Positions::alibi; },
                 {"attention_cap does not go with positions"});
  expect_invalid([](auto& c) { c.value_width = -1; }, {"value_width is -1"});
  expect_invalid([](auto& c) { c.logit_cap = std::nan(""); }, {"logit_cap is nan"});
  expect_invalid([](auto& c) { c.architecture = Architecture::encoder, c.head = Head::number, c.logit_cap = 30.0; },
                 {"logit_cap", "head = \"tokens\""});
  expect_invalid([](auto& c) { c.rotary_base = std::nan(""); }, {"rotary_base is nan"});
}

TEST(ModelConfig, RefusesSizesWithAnAbsurdProduct) {
  expect_invalid([](auto& c) { c.inner = c.model = int64_t{1} << 24; }, {"parameters", "at most"});
  expect_invalid([](auto& c) { c.heads = c.head_width = int64_t{1} << 24; }, {"parameters", "at most"});
  expect_invalid([](auto& c) { c.encoder_layers = int64_t{1} << 24; }, {"encoder_layers is 16777216"});
}

TEST(ModelConfig, AnUnknownKeyIsNamedWithItsLineAndTheNearest) {
  expect_error<ConfigError>([] { read_model("[model]\nmodel = 8\n\nhedas = 2\n", "r.toml"); },
                            {"r.toml:4: ", "'hedas'", "did you mean 'heads'?"});
  try {
    read_model("[model]\nxylophone_quartet = 2\n", "r.toml");
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("did you mean")));
  }
}

TEST(ModelConfig, AValueOfTheWrongTypeNamesItsKeyItsLineAndTheRightType) {
  const auto refuse = [](const std::string& line, const std::vector<std::string>& parts) {
    expect_error<ConfigError>([&] { read_model("[model]\n" + line + "\n", "r.toml"); }, parts);
  };
  refuse("model = 8.5", {"r.toml:2: ", "model must be an integer"});
  refuse("epsilon = \"small\"", {"r.toml:2: ", "epsilon must be a number"});
  refuse("activation = 3", {"r.toml:2: ", "activation must be a text"});
  refuse("gated = 1", {"r.toml:2: ", "gated must be true or false"});
  refuse("activation = \"sigmoid\"",
         {"r.toml:2: ", "activation: 'sigmoid' is not one of", "relu, relu-squared, gelu, gelu-tanh, silu"});
}

TEST(ModelConfig, PatternsOfAttentionAreReadAndDescribed) {
  const ModelConfig c = read_model("[model]\nattention = [\"local:4\", \"local:4+strided:2\"]\n", "r.toml");
  ASSERT_EQ(c.attention.size(), 2U);
  EXPECT_EQ(c.attention[0], LayerPattern({{HeadPattern::Kind::local, 4}}));
  EXPECT_EQ(c.attention[1], LayerPattern({{HeadPattern::Kind::local, 4}, {HeadPattern::Kind::strided, 2}}));
  EXPECT_THAT(describe(c), ::testing::HasSubstr("attention = [\"local:4\", \"local:4+strided:2\"]\n"));
  ModelConfig window = small_config(Architecture::causal_lm);
  window.window = 3;
  EXPECT_EQ(window.pattern_of(Stack::decoder, 1), LayerPattern({{HeadPattern::Kind::local, 3}}));
}

TEST(ModelConfig, LayersMayDiffer) {
  const ModelConfig c = read_model(
      "[model]\narchitecture = \"causal-lm\"\ninner = [1024, 2048]\nkey_value_heads = [1, 0, 2]\n"
      "rotary_base = [1e4, 0, 1e6]\n",
      "r.toml");
  EXPECT_EQ(c.inner.of(0), 1024);
  EXPECT_EQ(c.inner.of(3), 2048) << "a list repeats";
  EXPECT_EQ(c.heads_of_keys(0), 1);
  EXPECT_EQ(c.heads_of_keys(1), 8) << "0: as many as heads";
  EXPECT_EQ(c.most_heads_of_keys(1), 1);
  EXPECT_EQ(c.most_heads_of_keys(6), 8);
  EXPECT_THAT(describe(c), ::testing::HasSubstr("inner = [1024, 2048]\nheads = 8\nkey_value_heads = [1, 0, 2]\n"));
  EXPECT_THAT(describe(c), ::testing::HasSubstr("rotary_base = [10000.0, 0.0, 1000000.0]\n"));
  ModelConfig rotary = c;
  rotary.positions = Positions::rotary;
  EXPECT_EQ(rotary.rotary(0).dims, 64);
  EXPECT_EQ(rotary.rotary(1).dims, 0) << "a layer without positions";
  EXPECT_EQ(rotary.rotary(5).base, 1e6);
  EXPECT_EQ(read_model("[model]\ninner = [7]\n", "r").inner, PerLayer<int64_t>(7));
  EXPECT_THAT(describe(read_model("[model]\ninner = 7\n", "r")), ::testing::HasSubstr("\ninner = 7\n"));
  EXPECT_EQ(describe(c.inner), "1024 / 2048");
  EXPECT_EQ(c.key_heads_text(), "1 / 8 / 2");
  EXPECT_EQ(describe(PerLayer<int64_t>{3, 9, 2, 3}), "2 to 9");
}

TEST(ModelConfig, RefusesListsThatDoNotFitTheLayers) {
  const auto refuse = [](const std::string& line, const std::vector<std::string>& parts) {
    expect_error<ConfigError>([&] { read_model("[model]\n" + line + "\n", "r.toml"); }, parts);
  };
  refuse("inner = []", {"r.toml:2: ", "inner is an empty list"});
  refuse("inner = [64, 0.5]", {"r.toml:2: ", "inner must be an integer or a list of integers"});
  refuse("rotary_base = [1e4, \"none\"]", {"r.toml:2: ", "rotary_base must be a number or a list of numbers"});
  refuse("rotary_base = [1e4, inf]", {"r.toml:2: ", "rotary_base is inf, expected a finite number"});
  expect_invalid([](auto& c) { c.inner = {12, 0}; }, {"inner is 0, expected 1"});
  expect_invalid([](auto& c) { c.inner = {12, 8, 4}; }, {"inner has 3 values for 2 layers"});
  expect_invalid(
      [](auto& c) {
        c.heads = 4, c.key_value_heads = {2, 3};
      },
      {"key_value_heads 3 does not divide heads 4"});
  expect_invalid([](auto& c) { c.key_value_heads = {2, -1}; }, {"key_value_heads is -1"});
  expect_invalid([](auto& c) { c.rotary_base = {0.0, 0.0}; }, {"rotary_base is 0 in all layers", "\"none\""});
  expect_invalid([](auto& c) { c.rotary_base = 0.0; }, {"rotary_base is 0, expected above 0"});
  expect_invalid(
      [](auto& c) {
        c.rotary_base = {1e4, -1.0};
      },
      {"rotary_base is -1", "0 for a layer without positions"});
  expect_invalid(
      [](auto& c) {
        c.heads = 4, c.key_value_heads = {4, 1};
        c.attention = {{{}, {HeadPattern::Kind::local, 4}}};
      },
      {"has 2 parts, which do not divide 1 head of keys and values"});
}

// A layer of linear attention between rotary ones has no positions.
TEST(ModelConfig, LinearLayersGoWithRotaryOnesIfTheyHaveNoPositions) {
  const LayerPattern full{HeadPattern{}}, linear{HeadPattern{HeadPattern::Kind::linear}};
  ModelConfig config = small_config(Architecture::causal_lm);
  config.positions = Positions::rotary;
  config.attention = {full, linear};
  expect_error<ConfigError>([&] { config.validate(); }, {"attention \"linear\"", "rotary_base 0 in that layer"});
  config.rotary_base = {1e4, 0.0};
  EXPECT_NO_THROW(config.validate());
}

TEST(ModelConfig, StacksMayHavePatternsOfTheirOwn) {
  const HeadPattern local{HeadPattern::Kind::local, 4};
  ModelConfig config = small_config(Architecture::seq2seq);
  config.encoder_attention = {{local}};
  EXPECT_NO_THROW(config.validate());
  EXPECT_NO_THROW(refuse_settings_without_effect(config));
  EXPECT_EQ(config.pattern_of(Stack::encoder, 1), LayerPattern{local});
  EXPECT_EQ(config.pattern_of(Stack::decoder, 1), LayerPattern{HeadPattern{}});
  EXPECT_EQ(config.cached_window(), 0);
  std::swap(config.encoder_attention, config.decoder_attention);
  EXPECT_EQ(config.cached_window(), 4);
  EXPECT_THAT(describe(config), ::testing::HasSubstr("encoder_attention = []\ndecoder_attention = [\"local:4\"]\n"));
  config.attention = {{local}, {local}};
  EXPECT_NO_THROW(refuse_settings_without_effect(config));
  config.encoder_attention = {{local}, {local}, {local}};
  expect_error<ConfigError>([&] { refuse_settings_without_effect(config); },
                            {"encoder_attention has 3 patterns for 2 layers"});
  config.encoder_attention = {{local}};
  expect_error<ConfigError>([&] { refuse_settings_without_effect(config); }, {"attention = ", "has no effect"});
  expect_invalid([&](auto& c) { c.window = 4, c.encoder_attention = {{local}}; }, {"both window and patterns"});
  expect_invalid([&](auto& c) { c.architecture = Architecture::causal_lm, c.decoder_attention = {{local}}; },
                 {"encoder_attention and decoder_attention are for architecture \"seq2seq\"", "write attention"});
}

TEST(ModelConfig, RefusesWhatIsNotAPatternOfAttention) {
  for (const char* const text : {"", "sliding:4", "local", "local:", "local:0", "local:4x", "local:-1", "strided:1",
                                 "strided:99999999999999999999", "local:4+", "full+"}) {
    expect_error<ConfigError>(
        [&] { read_model(fmt::format("[model]\nattention = [\"full\", \"{}\"]\n", text), "r.toml"); },
        {"r.toml:2: ", "is not a pattern", "local:WINDOW"});
  }
  expect_error<ConfigError>([] { read_model("[model]\nattention = [\"full+linear\"]\n", "r.toml"); },
                            {"r.toml:2: ", "linear attention is for all heads of a layer"});
  expect_error<ConfigError>([] { read_model("[model]\nattention = [\"causal\"]\n", "r.toml"); },
                            {"'causal' is not a pattern: a decoder's attention is causal and an encoder's is not"});
}

TEST(ModelConfig, RefusesPatternsThatDoNotFitTheModel) {
  const HeadPattern local{HeadPattern::Kind::local, 4}, strided{HeadPattern::Kind::strided, 16};
  expect_invalid([](auto& c) { c.attention.clear(); }, {"attention has no pattern"});
  expect_invalid([&](auto& c) { c.window = 4, c.attention = {{local}}; }, {"both window and attention", "local:4"});
  expect_invalid(
      [&](auto& c) {
        c.attention = {{local, {}, strided}};
      },
      {"\"local:4+full+strided:16\" has 3 parts, which do not divide 2 heads"});
  expect_invalid(
      [&](auto& c) {
        c.heads = 4, c.key_value_heads = 1, c.attention = {{local, {}}};
      },
      {"do not divide 1 head of keys and values"});
  expect_invalid(
      [&](auto& c) {
        c.positions = Positions::alibi, c.attention = {{local}, {local, {}}};
      },
      {"one pattern for all heads of a layer", "\"local:4+full\""});
  expect_invalid(
      [&](auto& c) {
        c.positions = Positions::relative_bias, c.attention = {{{{HeadPattern::Kind::strided, 2}}}};
      },
      {"one pattern for all heads of a layer", "\"strided:2\""});
  const LayerPattern linear{HeadPattern{HeadPattern::Kind::linear}};
  expect_invalid(
      [&](auto& c) {
        c.attention_cap = 5.0, c.attention = {linear, linear};
      },
      {"attention_cap limits scores, but attention \"linear\" has none"});
  for (const Positions positions : {Positions::rotary, Positions::alibi, Positions::relative_bias}) {
    expect_invalid(
        [&](auto& c) {
          c.positions = positions, c.attention = {LayerPattern{HeadPattern{}}, linear};
        },
        {"\"linear\" sums over keys before it meets a query", "\"learned\""});
  }
  expect_invalid([&](auto& c) { c.attention = {{strided}}; }, {"\"strided:16\" sees no other token", "max_length"});
}

TEST(ModelConfig, PatternsThatNoLayerHasAreNotChecked) {
  const LayerPattern full{HeadPattern{}}, linear{HeadPattern{HeadPattern::Kind::linear}};
  ModelConfig config = small_config(Architecture::causal_lm);
  config.encoder_layers = 6;
  config.attention = {full, full, full, linear};
  config.attention_cap = 5.0;
  EXPECT_EQ(config.patterns_in_use(), std::vector<LayerPattern>({full, full}));
  EXPECT_NO_THROW(config.validate());
  config.decoder_layers = 4;
  expect_error<ConfigError>([&] { config.validate(); }, {"attention_cap limits scores"});
}

void expect_without_effect(Architecture architecture, const std::function<void(ModelConfig&)>& set,
                           const std::vector<std::string>& parts) {
  ModelConfig config = small_config(architecture);
  (architecture == Architecture::causal_lm ? config.encoder_layers : config.decoder_layers) = 6;
  config.encoder_layers = architecture == Architecture::seq2seq ? 2 : config.encoder_layers;
  EXPECT_NO_THROW(refuse_settings_without_effect(config));
  set(config);
  EXPECT_NO_THROW(config.validate()) << "models that older versions wrote stay readable";
  expect_error<ConfigError>([&] { refuse_settings_without_effect(config); }, parts);
}

TEST(ModelConfig, MorePatternsThanLayersOfTheArchitectureAreRefusedInRecipes) {
  const LayerPattern full{HeadPattern{}};
  for (const Architecture architecture : {Architecture::causal_lm, Architecture::encoder}) {
    expect_without_effect(architecture,
                          [&](auto& c) {
                            c.attention = {full, full, full};
                          },
                          {"model: attention has 3 patterns for 2 layers"});
  }
}

TEST(ModelConfig, SettingsWithoutEffectAreRefusedInRecipes) {
  const auto lm = Architecture::causal_lm, encoder = Architecture::encoder;
  const std::string rotary = " has no effect: it is for positions \"rotary\"";
  expect_without_effect(lm, [](auto& c) { c.rotary_base = 500.0; }, {"model: rotary_base = 500.0" + rotary});
  expect_without_effect(lm, [](auto& c) { c.rotary_width = 2; }, {"rotary_width = 2" + rotary});
  expect_without_effect(lm, [](auto& c) { c.rotary_scaling = RotaryScaling::ntk; },
                        {"rotary_scaling = \"ntk\"" + rotary});
  expect_without_effect(lm, [](auto& c) { c.rotary_factor = 2.0; }, {"rotary_factor = 2.0" + rotary});
  expect_without_effect(lm, [](auto& c) { c.rotary_trained_length = 8; },
                        {"rotary_trained_length = 8 has no effect: it is for rotary_scaling \"yarn\" and \"llama3\""});
  expect_without_effect(lm, [](auto& c) { c.positions = Positions::rotary, c.rotary_fast_turns = 8.0; },
                        {"rotary_fast_turns = 8.0 has no effect: it is for rotary_scaling \"yarn\" and \"llama3\""});
  expect_without_effect(lm, [](auto& c) { c.rotary_magnitude = 1.5; }, {"rotary_magnitude = 1.5" + rotary});
  const auto as_rotary = [](auto& c) { c.positions = Positions::rotary; };
  expect_without_effect(lm, [&](auto& c) { as_rotary(c), c.sinusoid = SinusoidLayout::halves; },
                        {"sinusoid = \"halves\" has no effect: it is for positions \"sinusoidal\""});
  expect_without_effect(lm, [&](auto& c) { as_rotary(c), c.position_offset = 2; },
                        {"position_offset = 2 has no effect: it is for positions \"sinusoidal\" and \"learned\""});
  expect_without_effect(lm,
                        [](auto& c) {
                          c.attention = std::vector<LayerPattern>{{{HeadPattern::Kind::linear}}};
                          c.attention_scale = 1.0;
                        },
                        {"attention_scale = 1.0 has no effect: it is for attention with a softmax"});
  expect_without_effect(lm, [](auto& c) { c.relative_buckets = 16; },
                        {"relative_buckets = 16 has no effect: it is for positions \"relative-bias\""});
  expect_without_effect(lm, [](auto& c) { c.relative_max_distance = 64; },
                        {"relative_max_distance = 64 has no effect"});
  expect_without_effect(lm, [](auto& c) { c.relative_clip = 8; },
                        {"relative_clip = 8 has no effect", "\"relative-keys-values\""});
  expect_without_effect(lm, [](auto& c) { c.linear_feature = LinearFeature::exp; },
                        {"linear_feature = \"exp\" has no effect: it is for attention \"linear\""});
  expect_without_effect(lm, [](auto& c) { c.norm = NormKind::rms, c.norm_bias = PartBias::all; },
                        {"norm_bias = \"all\" has no effect: it is for norm \"layer\""});
  expect_without_effect(lm, [](auto& c) { c.init_deviation = 0.06; },
                        {"init_deviation = 0.06 has no effect: it is for init \"normal\""});
  for (const Architecture architecture : {lm, encoder}) {
    expect_without_effect(architecture, [](auto& c) { c.pooling = Pooling::mean; },
                          {"pooling = \"mean\" has no effect: it is for head \"label\", \"labels\" and \"number\""});
    expect_without_effect(architecture,
                          [](auto& c) {
                            c.labels = {"a", "b"};
                          },
                          {"labels = [\"a\", \"b\"] has no effect: it is for head \"label\""});
  }
  expect_without_effect(encoder, [](auto& c) { c.head_layer_norm = HeadLayerNorm::present; },
                        {"head_layer_norm = true has no effect: it is for a head_layer"});
  expect_without_effect(encoder, [](auto& c) { c.text_width = 4; },
                        {"text_width = 4 has no effect: it is for imported models: no task trains it"});
  expect_without_effect(encoder, [](auto& c) { c.text_activation = Activation::tanh; },
                        {"text_activation = \"tanh\" has no effect: it is for a text_width above 0"});
  expect_without_effect(encoder, [](auto& c) { c.text_bias = Bias::none; }, {"text_bias = false has no effect"});
  expect_without_effect(encoder,
                        [](auto& c) {
                          c.head = Head::number, c.labels = {"a", "b"};
                        },
                        {"labels = [\"a\", \"b\"] has no effect"});
  expect_without_effect(encoder,
                        [](auto& c) { c.head = Head::token_labels, c.labels = {"a"}, c.pooling = Pooling::max; },
                        {"pooling = \"max\" has no effect"});
}

TEST(ModelConfig, EveryModelCanSayHowItsTextsAreEmbedded) {
  ModelConfig config = small_config(Architecture::causal_lm);
  config.text_pooling = Pooling::last;
  config.text_normalized = Normalized::yes;
  EXPECT_NO_THROW(config.validate());
}

TEST(ModelConfig, InvalidTomlNamesTheLine) {
  expect_error<FormatError>([] { read_model("[model]\nmodel = \n", "r.toml"); }, {"r.toml:2: "});
}

TEST(ModelConfig, RefusesALongerContextForLearnedPositions) {
  ModelConfig config = small_config(Architecture::causal_lm);
  EXPECT_EQ(with_context(config, {}).max_length, 16);
  EXPECT_EQ(with_context(config, {.max_length = 64}).max_length, 64);
  config.positions = Positions::rotary;
  const ModelConfig longer = with_context(config, {.max_length = 64, .rotary_scaling = RotaryScaling::yarn});
  EXPECT_EQ(longer.rotary_factor.of(0), 4.0);
  EXPECT_EQ(longer.rotary_trained_length, 16);
  longer.validate();
  const auto refused = [&](const ContextOptions& options, const std::string& part) {
    expect_error<ConfigError>([&] { with_context(config, options); }, {"context: ", part});
  };
  refused({.max_length = -1}, "is -1, expected the model's own 16");
  refused({.max_length = 15}, "is 15, expected the model's own 16");
  refused({.rotary_scaling = RotaryScaling::ntk}, "above the model's 16");
  config = longer;
  refused({.max_length = 128, .rotary_scaling = RotaryScaling::ntk}, "scaled already");
  config.positions = Positions::learned;
  config.max_length = 16;
  EXPECT_EQ(with_context(config, {.max_length = 16}).max_length, 16);
  refused({.max_length = 17}, "a table of 16 positions, so it can't take 17 tokens");
  refused({.max_length = 17, .rotary_scaling = RotaryScaling::ntk}, "not rotary");
}

TEST(ModelConfig, AWholeNumberIsAcceptedForANumber) {
  EXPECT_EQ(read_model("[model]\nrotary_base = 500000\n", "r").rotary_base.of(0), 500000.0);
}

TEST(ModelConfig, IsDescribedAsARecipeForTheSameModel) {
  ModelConfig config = small_config(Architecture::causal_lm);
  config.head_width = 6;
  config.positions = Positions::rotary;
  config.gating = Gating::gated;
  config.norm = NormKind::rms;
  config.tying = Tying::output;
  config.epsilon = 1.2345e-7;
  config.branch_dropout = Probability{0.15F};
  config.recompute = Recompute::layers;
  config.head_norm = HeadNorm::each_head;
  config.embedding_norm = EmbeddingNorm::present;
  config.logit_cap = 30.0;
  config.attention_cap = 50.0;
  config.attention_scale = 0.25;
  config.output_scale = 0.125;
  config.norm_gain = NormGain::plus_one;
  config.position_offset = 2;
  config.sinusoid = SinusoidLayout::halves_inclusive;
  config.value_width = 5;
  config.init = InitScheme::pytorch;
  for (const ModelConfig& c : {config, small_config(Architecture::seq2seq), small_config(Architecture::encoder)}) {
    const std::string text = describe(c);
    const ModelConfig again = read_model("[model]\n" + text, "described");
    EXPECT_EQ(describe(again), text);
    EXPECT_EQ(again.branch_dropout, c.branch_dropout);
    EXPECT_EQ(again.epsilon, c.epsilon);
    EXPECT_EQ(again.head_width, c.head_width);
  }
}

TEST(ModelConfig, TheTutorialsModelHasTheParametersCountedByHand) {
  const std::string recipe = (source_root() / "recipes/tutorial-2x2.toml").string();
  Weights weights;
  AnyModel(Scope(weights), read_model(read_file(recipe), recipe));
  EXPECT_EQ(weights.elements(), 14866532);
}

}  // namespace
}  // namespace heed::test
