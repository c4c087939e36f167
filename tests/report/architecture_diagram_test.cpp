#include "report/figures/architecture_diagram.h"

#include <gmock/gmock.h>

#include <regex>

#include "models/model_testing.h"

namespace heed::test {
namespace {

using testing::HasSubstr;
using testing::Not;

int64_t parameters_drawn(const std::string& svg) {
  const std::regex count("data-parameters=\"(\\d+)\"");
  int64_t total = 0;
  for (auto it = std::sregex_iterator(svg.begin(), svg.end(), count); it != std::sregex_iterator(); ++it) {
    total += std::stoll((*it)[1]);
  }
  return total;
}

int64_t parameters_of(const ModelConfig& config) {
  Weights weights;
  const AnyModel model(Scope(weights), config);
  return weights.elements();
}

struct Box {
  double x = 0.0, y = 0.0, width = 0.0, height = 0.0;
  std::string texts;  // as elements
};

std::vector<Box> boxes_in(const std::string& svg) {
  const std::regex box(
      "<g class=\"[a-z]+\"[^>]*><rect x=\"([-.\\d]+)\" y=\"([-.\\d]+)\" width=\"([.\\d]+)\" height=\"([.\\d]+)\" "
      "rx=\"4\"/>(.*)</g>");
  std::vector<Box> found;
  for (auto it = std::sregex_iterator(svg.begin(), svg.end(), box); it != std::sregex_iterator(); ++it) {
    found.push_back({std::stod((*it)[1]), std::stod((*it)[2]), std::stod((*it)[3]), std::stod((*it)[4]), (*it)[5]});
  }
  return found;
}

struct Text {
  double x = 0.0, y = 0.0, width = 0.0;
  std::string words;
};

// With an estimate of their width: entities are one character.
std::vector<Text> texts_in(const std::string& svg) {
  const std::regex text("<text class=\"([a-z]+)\" x=\"([-.\\d]+)\" y=\"([-.\\d]+)\">([^<]*)</text>");
  std::vector<Text> found;
  for (auto it = std::sregex_iterator(svg.begin(), svg.end(), text); it != std::sregex_iterator(); ++it) {
    const std::string plain = std::regex_replace((*it)[4].str(), std::regex("&[^;]*;"), "x");
    const double character = (*it)[1] == "small" ? 11 * 0.55 : 13 * 0.6;
    found.push_back(
        {std::stod((*it)[2]), std::stod((*it)[3]), character * static_cast<double>(plain.size()), (*it)[4]});
  }
  return found;
}

// All words, over the ends of lines.
std::string texts_of(const std::string& svg) {
  std::string all;
  for (const Text& text : texts_in(svg)) {
    all += text.words + " ";
  }
  return all;
}

// The words of the box that has this title.
std::string box_of(const std::string& svg, std::string_view title) {
  for (const Box& box : boxes_in(svg)) {
    if (std::string words = texts_of(box.texts); words.starts_with(title)) {
      return words;
    }
  }
  return "";
}

void expect_texts_in_boxes(const ModelConfig& config) {
  for (const Box& box : boxes_in(architecture_diagram(config))) {
    for (const Text& text : texts_in(box.texts)) {
      EXPECT_LE(text.width, box.width) << text.words;
      EXPECT_EQ(text.x, box.x + box.width / 2) << text.words;
      EXPECT_GT(text.y - 9, box.y) << text.words;
      EXPECT_LT(text.y, box.y + box.height) << text.words;
    }
  }
}

size_t times(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

// Where the first of each is drawn.
bool in_this_order(const std::string& svg, std::string_view first, std::string_view second) {
  return svg.find(first) < svg.find(second) && svg.find(second) != std::string::npos;
}

TEST(ArchitectureDiagram, ShowsEveryParameterOfEveryArchitectureOnce) {
  for (const Architecture architecture : {Architecture::seq2seq, Architecture::causal_lm, Architecture::encoder}) {
    ModelConfig config = small_config(architecture);
    for (const NormPlacement placement :
         {NormPlacement::pre, NormPlacement::post, NormPlacement::sandwich, NormPlacement::branch}) {
      config.placement = placement;
      EXPECT_EQ(parameters_drawn(architecture_diagram(config)), parameters_of(config)) << describe(architecture);
    }
    config.positions = Positions::relative_bias;
    EXPECT_EQ(parameters_drawn(architecture_diagram(config)), parameters_of(config));
    config.embedding_norm = EmbeddingNorm::present;
    config.positions = Positions::relative_keys_values;
    EXPECT_EQ(parameters_drawn(architecture_diagram(config)), parameters_of(config));
    config.positions = Positions::learned;
    config.tying = architecture == Architecture::seq2seq ? Tying::all : Tying::output;
    config.target_vocabulary = config.source_vocabulary = 11;
    EXPECT_EQ(parameters_drawn(architecture_diagram(config)), parameters_of(config));
  }
}

TEST(ArchitectureDiagram, ShowsWidthsHeadsAndLayers) {
  ModelConfig config = small_config(Architecture::seq2seq);
  config.key_value_heads = 1;
  config.decoder_layers = 3;
  config.value_width = 3;
  config.head_norm = HeadNorm::each_head;
  config.attention_cap = 50.0;
  config.logit_cap = 30.0;
  const std::string svg = architecture_diagram(config);
  EXPECT_THAT(texts_of(svg),
              HasSubstr("2 heads of 4, 1 of keys and values, values of 3, Q and K normed, scores within &#177;50 "));
  EXPECT_THAT(svg, HasSubstr("a table of its own, within &#177;30<"));
  EXPECT_THAT(svg, HasSubstr("8 &#8594; 12 &#8594; 8, relu"));
  EXPECT_THAT(svg, HasSubstr(">2 &#215;<"));
  EXPECT_THAT(svg, HasSubstr(">3 &#215;<"));
  EXPECT_THAT(svg, HasSubstr("Cross-attention"));
  EXPECT_THAT(architecture_diagram(small_config(Architecture::causal_lm)), Not(HasSubstr("Cross-attention")));
}

TEST(ArchitectureDiagram, ShowsSkipsAndValueEmbeddings) {
  for (const Architecture architecture : {Architecture::seq2seq, Architecture::causal_lm, Architecture::encoder}) {
    ModelConfig config = small_config(architecture);
    config.encoder_layers = config.decoder_layers = 4;
    config.value_embeddings = {1, 0, 2};
    config.skips = Skips::mirrored;
    expect_texts_in_boxes(config);
    const std::string svg = architecture_diagram(config);
    EXPECT_EQ(parameters_drawn(svg), parameters_of(config)) << describe(architecture);
    EXPECT_THAT(texts_of(svg), HasSubstr("heads of 4, value embeddings"));
    EXPECT_THAT(svg, HasSubstr("Value embeddings, "));
    EXPECT_THAT(svg, HasSubstr("Skips to mirrored layers, "));
  }
}

TEST(ArchitectureDiagram, CountsBigramsWithTheEmbedding) {
  ModelConfig config = small_config(Architecture::causal_lm);
  config.bigrams = 500;
  expect_texts_in_boxes(config);
  const std::string svg = architecture_diagram(config);
  EXPECT_EQ(parameters_drawn(svg), parameters_of(config));
  EXPECT_THAT(texts_of(svg), HasSubstr("500 rows of bigrams"));
}

TEST(ArchitectureDiagram, ShowsScalesAndWherePositionsBegin) {
  ModelConfig config = small_config(Architecture::causal_lm);
  config.sinusoid = SinusoidLayout::halves_inclusive;
  config.position_offset = 2;
  config.attention_scale = 0.25;
  config.output_scale = 0.125;
  config.norm_gain = NormGain::plus_one;
  expect_texts_in_boxes(config);
  const std::string svg = architecture_diagram(config);
  EXPECT_THAT(texts_of(svg), HasSubstr("sinusoidal positions in halves-inclusive from 2"));
  EXPECT_THAT(texts_of(svg), HasSubstr("scores times 0.25"));
  EXPECT_THAT(texts_of(svg), HasSubstr("inputs times 0.125"));
  EXPECT_THAT(svg, HasSubstr("Layer norm, 1 + gain"));
}

TEST(ArchitectureDiagram, ShowsHeadLayersAndNarrowEmbeddings) {
  ModelConfig config = small_config(Architecture::encoder);
  config.embedding_width = 6;
  config.head_layer = Activation::gelu;
  config.head_layer_norm = HeadLayerNorm::present;
  config.tying = Tying::output;
  config.shared_layers = SharedLayers::yes;
  expect_texts_in_boxes(config);
  const std::string svg = architecture_diagram(config);
  EXPECT_THAT(texts_of(svg), HasSubstr("from 6 to 8"));
  EXPECT_THAT(svg, HasSubstr("Head layer, 8 &#8594; 6"));
  EXPECT_THAT(texts_of(svg), HasSubstr("gelu, normed"));
  EXPECT_THAT(svg, Not(HasSubstr("2 &#215; ")));  // parameters of each of two layers
}

TEST(ArchitectureDiagram, ShowsARecurrentDecoder) {
  ModelConfig config = small_config(Architecture::seq2seq);
  config.autoregression = Autoregression::ssru;
  expect_texts_in_boxes(config);
  const std::string svg = architecture_diagram(config);
  EXPECT_THAT(svg, HasSubstr("Simple recurrence"));
  EXPECT_THAT(svg, Not(HasSubstr("Causal self-attention")));
  EXPECT_THAT(svg, HasSubstr("Cross-attention"));
}

TEST(ArchitectureDiagram, ShowsWhereTheNormsAre) {
  ModelConfig config = small_config(Architecture::causal_lm);
  config.final_norm = FinalNorm::none;
  const std::string pre = architecture_diagram(config);
  EXPECT_TRUE(in_this_order(pre, "Layer norm", "Causal self-attention"));
  EXPECT_EQ(times(pre, "Layer norm"), 2U);
  config.placement = NormPlacement::post;
  EXPECT_TRUE(in_this_order(architecture_diagram(config), "Causal self-attention", "Layer norm"));
  config.placement = NormPlacement::sandwich;
  EXPECT_EQ(times(architecture_diagram(config), "Layer norm"), 4U);
  config.placement = NormPlacement::pre;
  config.branches = Branches::parallel;
  EXPECT_EQ(times(architecture_diagram(config), "Layer norm"), 1U);
  config.branches = Branches::parallel_own_norms;
  const std::string own = architecture_diagram(config);
  EXPECT_EQ(times(own, "Layer norm"), 2U);
  EXPECT_TRUE(in_this_order(own, "Layer norm", "self-attention"));
  EXPECT_EQ(parameters_drawn(own), parameters_of(config));
}

TEST(ArchitectureDiagram, ShowsInWhatLayersDiffer) {
  ModelConfig config = small_config(Architecture::seq2seq);
  config.inner = {12, 6};
  config.key_value_heads = {2, 1};
  config.encoder_attention = {{{HeadPattern::Kind::local, 4}}};
  const std::string svg = architecture_diagram(config);
  EXPECT_THAT(svg, HasSubstr("8 &#8594; 12 / 6 &#8594; 8, relu"));
  EXPECT_THAT(svg, HasSubstr("2 heads of 4, 2 / 1 of keys and values,<"));  // the encoder's, with its pattern below
  EXPECT_THAT(svg, HasSubstr(">local:4<"));
  EXPECT_THAT(svg, HasSubstr("2 heads of 4, 2 / 1 of keys and values<"));
  EXPECT_THAT(svg, HasSubstr("parameters in 2 layers"));
  EXPECT_EQ(parameters_drawn(svg), parameters_of(config));
}

TEST(ArchitectureDiagram, KeepsTextInsideItsBox) {
  ModelConfig config = small_config(Architecture::causal_lm);
  config.heads = 4;
  config.key_value_heads = 2;
  config.decoder_layers = 4;
  config.positions = Positions::rotary;
  config.rotary_scaling = RotaryScaling::yarn;
  config.rotary_factor = 4.0;
  config.head_norm = HeadNorm::each_head;
  config.attention_cap = 30.0;
  config.attention = {layer_pattern("", "local:4+strided:8"), layer_pattern("", "local:8"), layer_pattern("", "full"),
                      layer_pattern("", "local:16")};
  expect_texts_in_boxes(config);
  EXPECT_THAT(texts_of(architecture_diagram(config)),
              HasSubstr("2 of keys and values, local:4+ strided:8 / local:8 / full / local:16, rotary positions, yarn "
                        "scaling by 4, Q and K normed, scores within &#177;30 "));
  config.branches = Branches::parallel;
  config.gating = Gating::gated;
  expect_texts_in_boxes(config);
  config.model = 8192;
  config.target_vocabulary = 256000;
  expect_texts_in_boxes(config);
}

TEST(ArchitectureDiagram, KeepsLabelsInsideTheirBox) {
  ModelConfig config = small_config(Architecture::encoder);
  config.head = Head::several_labels;
  config.labels = {std::string(100, 'x'), "a & b", "<c>"};
  expect_texts_in_boxes(config);
  EXPECT_THAT(texts_of(architecture_diagram(config)), HasSubstr("a &amp; b, &lt;c&gt; "));
}

TEST(ArchitectureDiagram, CountsEqualLayersAndShortensManyPatterns) {
  ModelConfig config = small_config(Architecture::causal_lm);
  config.decoder_layers = 12;
  config.attention = {layer_pattern("", "local:8"), layer_pattern("", "local:8"), layer_pattern("", "full")};
  EXPECT_THAT(texts_of(architecture_diagram(config)), HasSubstr(", 2 &#215; local:8 / full"));
  config.attention.clear();
  for (int64_t size = 2; size < 14; ++size) {
    config.attention.push_back({{HeadPattern::Kind::local, size}});
  }
  EXPECT_THAT(texts_of(architecture_diagram(config)), HasSubstr(" / local:7 / 6 more"));
  config.attention = {layer_pattern("", "full"), layer_pattern("", "full")};
  EXPECT_THAT(texts_of(architecture_diagram(config)), Not(HasSubstr("full")));
}

TEST(ArchitectureDiagram, ShowsPositionsWhereTheyAct) {
  ModelConfig config = small_config(Architecture::seq2seq);
  config.positions = Positions::learned;
  EXPECT_THAT(box_of(architecture_diagram(config), "Embedding"), HasSubstr("learned positions"));
  config.positions = Positions::none;
  EXPECT_THAT(box_of(architecture_diagram(config), "Embedding"), HasSubstr("no positions"));
  const std::vector<std::pair<Positions, std::string>> between_tokens{
      {Positions::rotary, "rotary positions"},
      {Positions::alibi, "ALiBi"},
      {Positions::relative_bias, "relative bias of 32 buckets"},
      {Positions::relative_keys, "relative keys up to distance 16"},
      {Positions::relative_keys_values, "relative keys and values up to distance 16"}};
  for (const auto& [positions, words] : between_tokens) {
    config.positions = positions;
    const std::string svg = architecture_diagram(config);
    EXPECT_THAT(box_of(svg, "Embedding"), Not(HasSubstr("position")));
    EXPECT_THAT(box_of(svg, "Self-attention"), HasSubstr(words));
    EXPECT_THAT(box_of(svg, "Causal self-attention"), HasSubstr(words));
    EXPECT_THAT(box_of(svg, "Cross-attention"), Not(HasSubstr(words)));
  }
}

TEST(ArchitectureDiagram, ShowsWhatAnEncoderPredicts) {
  ModelConfig config = small_config(Architecture::encoder);
  config.token_types = 2;
  EXPECT_THAT(box_of(architecture_diagram(config), "Embedding"), HasSubstr("2 token types"));
  EXPECT_THAT(texts_of(architecture_diagram(config)), HasSubstr("the masked tokens"));
  config.head = Head::one_label;
  config.labels = {"good", "bad"};
  EXPECT_THAT(texts_of(architecture_diagram(config)), HasSubstr("one label of each text"));
  EXPECT_THAT(box_of(architecture_diagram(config), "Head"), HasSubstr("2 labels: good, bad"));
  config.head = Head::several_labels;
  config.labels.resize(20, "other");
  EXPECT_THAT(texts_of(architecture_diagram(config)), HasSubstr("any number of labels of each text"));
  EXPECT_THAT(box_of(architecture_diagram(config), "Head"), HasSubstr("20 labels "));
  config.head = Head::token_labels;
  EXPECT_THAT(texts_of(architecture_diagram(config)), HasSubstr("a label of each token"));
  config.head = Head::number;
  config.labels.clear();
  EXPECT_THAT(box_of(architecture_diagram(config), "Head"), HasSubstr("a number "));
}

TEST(ArchitectureDiagram, DrawsALineBetweenTiedTables) {
  ModelConfig config = small_config(Architecture::seq2seq);
  config.target_vocabulary = config.source_vocabulary;
  EXPECT_EQ(times(architecture_diagram(config), "class=\"tied\""), 0U);
  config.tying = Tying::output;
  EXPECT_EQ(times(architecture_diagram(config), "class=\"tied\""), 1U);
  config.tying = Tying::all;
  EXPECT_EQ(times(architecture_diagram(config), "class=\"tied\""), 2U);
}

}  // namespace
}  // namespace heed::test
