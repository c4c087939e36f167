#include "report/architecture_diagram.h"

#include <algorithm>

#include "models/any_model.h"
#include "models/config_keys.h"
#include "report/html.h"

namespace heed {
namespace {

// In units of the drawing. It grows upwards from 0, so heights become negative coordinates.
constexpr double kWidth = 290, kBox = 58, kLine = 26, kGap = 16, kHalf = (kWidth - 8) / 2, kPlus = 9, kAround = 34,
                 kBetween = 120;

std::string setting_in_words(const ModelConfig& config, std::string_view key) {
  ModelConfig copy = config;
  const SettingTable table = model_settings(copy);
  const auto it = std::ranges::find(table.settings, key, &Setting::name);
  std::string text = it == table.settings.end() ? "" : it->show();
  std::erase(text, '"');
  return text;
}

// How many parameters the weights have whose names begin like this.
class ParameterCounts {
 public:
  explicit ParameterCounts(const ModelConfig& config) { AnyModel(Scope(weights_), config); }

  int64_t below(std::string_view prefix) const {
    return sum([&](const std::string& name) { return name.starts_with(prefix); });
  }
  // Of all layers' parts with this path below the layer: "attention.norm.".
  int64_t of_layers(const std::string& stack, const std::string& part) const {
    return sum([&](const std::string& name) {
      const std::string layers = stack + ".layers.";
      return name.starts_with(layers) && name.substr(name.find('.', layers.size()) + 1).starts_with(part);
    });
  }

 private:
  template <class Choose>
  int64_t sum(Choose choose) const {
    int64_t total = 0;
    for (const Weight& weight : weights_.all()) {
      total += choose(weight.name()) ? weight.shape().elements() : 0;
    }
    return total;
  }

  Weights weights_;
};

struct DiagramBox {
  std::string title, detail;
  int64_t parameters = 0;  // of all layers
  int64_t layers = 1;
  enum class Layers : uint8_t { alike, different } widths = Layers::alike;
};

std::string parameters_in_words(const DiagramBox& box) {
  if (box.parameters == 0) {
    return "no parameters";
  }
  if (box.widths == DiagramBox::Layers::different) {
    return fmt::format("{} parameters in {} layers", grouped(box.parameters), box.layers);
  }
  const std::string each = grouped(box.parameters / box.layers);
  return box.layers == 1 ? each + " parameters" : fmt::format("{} &#215; {} parameters", box.layers, each);
}

// A column of boxes, which grows upwards.
class DiagramColumn {
 public:
  DiagramColumn(Html& out, double left) : out_(out), left_(left) {}

  double height() const { return height_; }
  double right() const { return left_ + kWidth; }
  double left() const { return left_; }
  double middle() const { return left_ + kWidth / 2; }

  // The middle of the box.
  double box(const DiagramBox& one) { return box(one, left_, kWidth, Grow::yes); }
  // Two boxes that read the same.
  void side_by_side(const DiagramBox& first, const DiagramBox& second) {
    box(first, left_, kHalf, Grow::no);
    box(second, left_ + kWidth - kHalf, kHalf, Grow::yes);
  }
  // A box of one line.
  void line(const DiagramBox& one, std::string_view kind) {
    arrow();
    line_at(left_, kWidth, one, fmt::format("{}, {}", one.title, parameters_in_words(one)), kind);
    height_ += kLine;
  }
  // The norms of two boxes that follow side by side.
  void norms_side_by_side(const DiagramBox& first, const DiagramBox& second) {
    arrow();
    const auto words = [](const DiagramBox& one) {
      return fmt::format("{}, {} &#215; {}", one.title, one.layers, grouped(one.parameters / one.layers));
    };
    line_at(left_, kHalf, first, words(first), "norm");
    line_at(left_ + kWidth - kHalf, kHalf, second, words(second), "norm");
    height_ += kLine;
  }
  // Where the residual stream and a branch that left it at `from` are added.
  void plus(double from) {
    arrow();
    const double at = height_ + kPlus, side = left_ - 13;
    out_.add("<path class=\"flow\" d=\"M{} {}H{}V{}H{}\"/>", middle(), -from - kGap / 2, side, -at, middle() - kPlus);
    out_.add("<circle class=\"plus\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>", middle(), -at, kPlus);
    text(middle(), at - 5, "+", "title");
    height_ += 2 * kPlus;
  }
  void label(std::string_view words) {
    if (height_ > 0) {
      arrow();
    }
    text(middle(), height_ + 4, words, "small");
    height_ += 18;
  }
  // Around what has been drawn since `from`.
  void layers(double from, int64_t count) {
    out_.add("<rect class=\"layer\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n", left_ - kAround,
             -height_ - 6, kWidth + 2 * kAround, height_ - from - 2);
    text(right() + kAround - 5, height_ - 10, fmt::format("{} &#215;", count), "times");
  }

 private:
  enum class Grow : uint8_t { no, yes };

  void line_at(double left, double width, const DiagramBox& one, std::string_view words, std::string_view kind) {
    out_.add("<g class=\"{}\" data-parameters=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"/>",
             kind, one.parameters, left, -height_ - kLine, width, kLine);
    text(left + width / 2, height_ + kLine / 2 - 4, words, "small");
    out_.add("</g>\n");
  }
  double box(const DiagramBox& one, double left, double width, Grow grow) {
    const double before = height_;
    arrow();
    out_.add("<g class=\"part\" data-parameters=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"/>",
             one.parameters, left, -height_ - kBox, width, kBox);
    text(left + width / 2, height_ + 40, one.title, "title");
    text(left + width / 2, height_ + 24, one.detail, "small");
    text(left + width / 2, height_ + 9, parameters_in_words(one), "small");
    out_.add("</g>\n");
    height_ = grow == Grow::yes ? height_ + kBox : before;
    return height_ - kBox / 2;
  }
  void arrow() {
    out_.add("<path class=\"flow\" d=\"M{0} {1}V{2}m-3 5l3-5l3 5\"/>", middle(), -height_, -height_ - kGap);
    height_ += kGap;
  }
  void text(double x, double height, std::string_view words, std::string_view kind) {
    out_.add("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>", kind, x, -height, words);
  }

  Html& out_;
  double left_, height_ = 0;
};

class Diagram {
 public:
  explicit Diagram(const ModelConfig& config) : config_(config), counts_(config) {}

  std::string draw() {
    const bool pairs = config_.architecture == Architecture::seq2seq;
    const double first = kAround + 14;
    DiagramColumn left(parts_, first), right(parts_, pairs ? first + kWidth + kBetween : first);
    double memory = 0;
    if (pairs) {
      const double source = embedding(left, "source", "source tokens", config_.source_vocabulary, Own::yes);
      stack(left, "encoder", config_.encoder_layers);
      memory = left.height();
      const Own own = config_.tying == Tying::all ? Own::no : Own::yes;
      const double target = embedding(right, "target", "target tokens, shifted right", config_.target_vocabulary, own);
      if (own == Own::no) {
        parts_.add("<path class=\"tied\" d=\"M{} {}L{} {}\"/>", left.right(), -source, right.left(), -target);
      }
      body(right, "decoder", config_.decoder_layers, target);
      link_memory(left, right, memory);
    } else {
      const bool encodes = config_.architecture == Architecture::encoder;
      const double tokens = embedding(right, "embedding", "tokens",
                                      encodes ? config_.source_vocabulary : config_.target_vocabulary, Own::yes);
      body(right, encodes ? "encoder" : "decoder", encodes ? config_.encoder_layers : config_.decoder_layers, tokens);
    }
    return framed(std::max(left.height(), right.height()) + 16, right.right() + kAround + 22);
  }

 private:
  enum class Own : uint8_t { no, yes };

  std::string framed(double height, double width) {
    return fmt::format(
        "<svg class=\"architecture\" role=\"img\" aria-label=\"Architecture: {}\" viewBox=\"0 {} {} {}\" "
        "style=\"max-width:{}px\">\n{}</svg>\n",
        in_words(config_.architecture), -height, width, height + 8, width, parts_.take());
  }

  // The middle of the box.
  double embedding(DiagramColumn& column, const std::string& name, std::string_view tokens, int64_t vocabulary,
                   Own own) {
    column.label(tokens);
    const std::string positions = setting_in_words(config_, "positions");
    return column.box(
        {.title = fmt::format("Embedding{}, {} &#8594; {}", own == Own::no ? " (the same table)" : "",
                              grouped(vocabulary), grouped(config_.model)),
         .detail = fmt::format("{}{}positions: {}", config_.embedding_norm == EmbeddingNorm::present ? "normed, " : "",
                               config_.embedding_scale == EmbeddingScale::sqrt_model
                                   ? fmt::format("times &#8730;{}, ", config_.model)
                                   : "",
                               positions),
         .parameters = counts_.below(name + ".")});
  }

  std::string norm_name() const { return config_.norm == NormKind::rms ? "RMS norm" : "Layer norm"; }

  void norm(DiagramColumn& column, const std::string& stack, const std::string& part, int64_t layers) {
    column.line({norm_name(), "", counts_.of_layers(stack, part + "."), layers}, "norm");
  }

  DiagramBox box_of(const std::string& stack, const std::string& part, int64_t layers) const {
    const int64_t norms = counts_.of_layers(stack, part + ".norm.") + counts_.of_layers(stack, part + ".branch_norm.");
    DiagramBox box{.title = "Feed-forward",
                   .detail = "",
                   .parameters = counts_.of_layers(stack, part + ".") - norms,
                   .layers = layers};
    const bool alike = part == "feed_forward" ? config_.inner.is_uniform() : config_.key_value_heads.is_uniform();
    box.widths = alike ? DiagramBox::Layers::alike : DiagramBox::Layers::different;
    if (part == "feed_forward") {
      const bool gated = config_.gating == Gating::gated;
      box.detail =
          fmt::format("{0} &#8594; {1}{2} &#8594; {0}, {3}{4}", config_.model, gated ? "2 &#183; " : "",
                      in_words(config_.inner), setting_in_words(config_, "activation"), gated ? ", gated" : "");
      return box;
    }
    box.title = part == "cross_attention" ? "Cross-attention"
                : stack == "decoder"      ? "Causal self-attention"
                                          : "Self-attention";
    const std::string keys = config_.keys_in_words();
    box.detail =
        fmt::format("{} of {}{}{}", counted(config_.heads, "head"), config_.width_of_head(),
                    keys == fmt::format("{}", config_.heads) ? "" : fmt::format(", {} of keys and values", keys),
                    part == "cross_attention" ? "" : patterns(stack));
    box.detail += scoring();
    return box;
  }

  // What is done to queries, keys and scores, and the values where they have a width of their own.
  std::string scoring() const {
    std::string words;
    if (config_.width_of_values() != config_.width_of_head()) {
      words += fmt::format(", values of {}", config_.width_of_values());
    }
    if (config_.head_norm != HeadNorm::none) {
      words += ", Q and K normed";
    }
    if (config_.attention_cap > 0.0) {
      words += fmt::format(", scores within &#177;{:g}", config_.attention_cap);
    }
    return words;
  }

  // ", local:128 / full" of layers that take turns.
  std::string patterns(const std::string& name) const {
    const Stack stack = name == "encoder" ? Stack::encoder : Stack::decoder;
    std::vector<std::string> texts;
    for (const LayerPattern& pattern : config_.patterns_of(stack)) {
      texts.push_back(escape_html(text_of(pattern)));
    }
    const bool plain = std::ranges::all_of(texts, [](const std::string& one) { return one == "full"; });
    return plain ? "" : fmt::format(", {}", fmt::join(texts, " / "));
  }

  // A branch around the residual stream, with its norms. The middle of its box.
  double sublayer(DiagramColumn& column, const std::string& stack, const std::string& part, int64_t layers) {
    const double from = column.height();
    const NormPlacement placement = config_.placement;
    if (placement == NormPlacement::pre || placement == NormPlacement::sandwich) {
      norm(column, stack, part + ".norm", layers);
    }
    const double middle = column.box(box_of(stack, part, layers));
    if (placement == NormPlacement::branch || placement == NormPlacement::sandwich) {
      norm(column, stack, part + ".branch_norm", layers);
    }
    column.plus(from);
    if (placement == NormPlacement::post) {
      norm(column, stack, part + ".norm", layers);
    }
    return middle;
  }

  void parallel_layer(DiagramColumn& column, const std::string& stack, int64_t layers) {
    const double from = column.height();
    if (config_.branches == Branches::parallel_own_norms) {
      const auto norm_of = [&](const std::string& part) {
        return DiagramBox{.title = norm_name(),
                          .detail = "",
                          .parameters = counts_.of_layers(stack, part + ".norm."),
                          .layers = layers};
      };
      column.norms_side_by_side(norm_of("attention"), norm_of("feed_forward"));
    } else {
      norm(column, stack, "attention.norm", layers);
    }
    column.side_by_side(box_of(stack, "attention", layers), box_of(stack, "feed_forward", layers));
    column.plus(from);
  }

  void stack(DiagramColumn& column, const std::string& name, int64_t layers) {
    const int64_t shared =
        counts_.below(name + ".") - counts_.below(name + ".layers.") - counts_.below(name + ".norm.");
    if (shared > 0) {
      column.line({"Shared by all layers", "", shared, 1}, "norm");
    }
    const double from = column.height();
    if (layers > 0) {
      layer(column, name, layers);
      column.layers(from, layers);
    }
    if (config_.final_norm == FinalNorm::present) {
      column.line({norm_name(), "", counts_.below(name + ".norm."), 1}, "norm");
    }
  }

  void layer(DiagramColumn& column, const std::string& name, int64_t layers) {
    const bool crosses = config_.architecture == Architecture::seq2seq && name == "decoder";
    if (config_.branches != Branches::sequential) {
      parallel_layer(column, name, layers);
      return;
    }
    sublayer(column, name, crosses ? "self_attention" : "attention", layers);
    if (crosses) {
      cross_ = sublayer(column, name, "cross_attention", layers);
    }
    sublayer(column, name, "feed_forward", layers);
  }

  // The stack and what is made of its output. `table`: the middle of the embedding, for a tied output.
  void body(DiagramColumn& column, const std::string& name, int64_t layers, double table) {
    stack(column, name, layers);
    const bool encodes = config_.architecture == Architecture::encoder;
    const bool of_tokens = !encodes || config_.head == Head::tokens;
    if (encodes && !of_tokens && config_.head != Head::token_labels) {
      column.line({fmt::format("Pooling: {}", setting_in_words(config_, "pooling")), "", 0, 1}, "norm");
    }
    const bool tied = of_tokens && config_.tying != Tying::none;
    const int64_t outputs = encodes ? config_.encoder_outputs() : config_.target_vocabulary;
    const double output = column.box(
        {.title = fmt::format("{}, {} &#8594; {}", of_tokens ? "Output" : "Head", config_.model, grouped(outputs)),
         .detail = std::string(tied        ? "the embedding's table"
                               : of_tokens ? "a table of its own"
                                           : "of labels") +
                   (config_.logit_cap > 0.0 ? fmt::format(", within &#177;{:g}", config_.logit_cap) : ""),
         .parameters = counts_.below("output.") + counts_.below("head.")});
    if (tied) {
      parts_.add("<path class=\"tied\" d=\"M{0} {1}H{2}V{3}H{0}\"/>", column.right(), -output,
                 column.right() + kAround + 12, -table);
    }
    column.label(encodes && of_tokens ? "the masked tokens" : encodes ? "labels or a number" : "the next token");
  }

  // From the top of the encoder to the decoder's cross-attention.
  void link_memory(const DiagramColumn& encoder, const DiagramColumn& decoder, double top) {
    if (config_.decoder_layers > 0) {
      parts_.add("<path class=\"flow memory\" d=\"M{} {}V{}H{}V{}H{}m-5 -3l5 3l-5 3\"/>", encoder.middle(), -top,
                 -top - kGap, encoder.right() + kBetween / 2, -cross_, decoder.left());
    }
  }

  const ModelConfig& config_;
  ParameterCounts counts_;
  Html parts_;
  double cross_ = 0;  // the middle of the cross-attention's box
};

}  // namespace

std::string architecture_diagram(const ModelConfig& config) { return Diagram(config).draw(); }

}  // namespace heed
