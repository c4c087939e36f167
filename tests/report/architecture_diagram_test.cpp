#include "report/architecture_diagram.h"

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
      EXPECT_EQ(parameters_drawn(architecture_diagram(config)), parameters_of(config)) << in_words(architecture);
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
  EXPECT_THAT(svg,
              HasSubstr("2 heads of 4, 1 of keys and values, values of 3, Q and K normed, scores within &#177;50<"));
  EXPECT_THAT(svg, HasSubstr("a table of its own, within &#177;30<"));
  EXPECT_THAT(svg, HasSubstr("8 &#8594; 12 &#8594; 8, relu"));
  EXPECT_THAT(svg, HasSubstr(">2 &#215;<"));
  EXPECT_THAT(svg, HasSubstr(">3 &#215;<"));
  EXPECT_THAT(svg, HasSubstr("Cross-attention"));
  EXPECT_THAT(architecture_diagram(small_config(Architecture::causal_lm)), Not(HasSubstr("Cross-attention")));
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
  EXPECT_TRUE(in_this_order(own, "Layer norm", "Causal self-attention"));
  EXPECT_EQ(parameters_drawn(own), parameters_of(config));
}

TEST(ArchitectureDiagram, ShowsInWhatLayersDiffer) {
  ModelConfig config = small_config(Architecture::seq2seq);
  config.inner = {12, 6};
  config.key_value_heads = {2, 1};
  config.encoder_attention = {{{HeadPattern::Kind::local, 4}}};
  const std::string svg = architecture_diagram(config);
  EXPECT_THAT(svg, HasSubstr("8 &#8594; 12 / 6 &#8594; 8, relu"));
  EXPECT_THAT(svg, HasSubstr("2 heads of 4, 2 / 1 of keys and values, local:4<"));
  EXPECT_THAT(svg, HasSubstr("2 heads of 4, 2 / 1 of keys and values<"));
  EXPECT_THAT(svg, HasSubstr("parameters in 2 layers"));
  EXPECT_EQ(parameters_drawn(svg), parameters_of(config));
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
