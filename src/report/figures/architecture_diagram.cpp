#include "report/figures/architecture_diagram.h"

#include <algorithm>

#include "models/any_model.h"
#include "report/figures/html.h"
#include "report/figures/model_facts.h"
#include "report/figures/text_lines.h"

namespace heed {
namespace {

// In units of the drawing. It grows upwards from 0, so heights become negative coordinates.
constexpr double kWidth = 290, kHalf = (kWidth - 8) / 2, kLine = 26, kGap = 16, kPlus = 9, kAround = 34, kBetween = 120;
constexpr double kMargin = 8, kLineOfText = 15;  // beside the text of a box, and from one of its lines to the next

// How many parameters a model's weights have, all layers' together.
class ParameterCounts {
 public:
  explicit ParameterCounts(const ModelConfig& config) { AnyModel(Scope(weights_), config); }

  int64_t of_embedding(Stack stack) const {
    return sum([&](const WeightIdentity& weight) { return weight.is_of(stack) && is_of_embedding(weight); });
  }
  // Parameters of a sublayer without the norms around it.
  int64_t of_sublayer(Stack stack, Sublayer sublayer) const {
    return sum([&](const WeightIdentity& weight) {
      return weight.is_of(stack) && weight.is_of(sublayer) && !weight.has(WeightRole::sublayer_norm) &&
             !weight.has(WeightRole::branch_norm);
    });
  }
  int64_t of_norms(Stack stack, Sublayer sublayer, WeightRole norm) const {
    return sum([&](const WeightIdentity& weight) {
      return weight.is_of(stack) && weight.is_of(sublayer) && weight.has(norm);
    });
  }
  // Parameters that a stack has beside its layers.
  int64_t beside_layers(Stack stack, WeightRole role) const {
    return sum(
        [&](const WeightIdentity& weight) { return weight.is_of(stack) && !weight.place.layer && weight.has(role); });
  }
  int64_t of_skips(Stack stack) const {
    return sum([&](const WeightIdentity& weight) { return weight.is_of(stack) && weight.has(WeightRole::skip_norm); });
  }
  int64_t of_head_layer() const {
    return sum([](const WeightIdentity& weight) {
      return weight.has(WeightRole::head_layer) || weight.has(WeightRole::head_norm);
    });
  }
  int64_t of_output() const {
    return sum(
        [](const WeightIdentity& weight) { return weight.has(WeightRole::logits) || weight.has(WeightRole::labels); });
  }

 private:
  template <class Choose>
  int64_t sum(Choose choose) const {
    int64_t total = 0;
    for (const Weight& weight : weights_.all()) {
      total += choose(weight.identity()) ? weight.shape().elements() : 0;
    }
    return total;
  }

  Weights weights_;
};

struct DiagramBox {
  std::string title;
  Facts facts = {};
  int64_t parameters = 0;  // of all layers
  int64_t layers = 1;
  enum class Layers : uint8_t { alike, different } widths = Layers::alike;
};

std::string describe_parameters(const DiagramBox& box) {
  if (box.parameters == 0) {
    return "no parameters";
  }
  if (box.widths == DiagramBox::Layers::different) {
    return fmt::format("{} parameters in {} layers", grouped(box.parameters), box.layers);
  }
  const std::string each = grouped(box.parameters / box.layers);
  return box.layers == 1 ? each + " parameters" : fmt::format("{} &#215; {} parameters", box.layers, each);
}

// What stands in a box of this width, from top to bottom.
struct BoxLines {
  std::vector<std::string> title, small;

  BoxLines(const DiagramBox& box, double width)
      : title(lines_of({box.title}, kTitleFont, width - 2 * kMargin)),
        small(lines_of(box.facts, kSmallFont, width - 2 * kMargin)) {
    const std::vector<std::string> parameters = lines_of({describe_parameters(box)}, kSmallFont, width - 2 * kMargin);
    small.insert(small.end(), parameters.begin(), parameters.end());
  }
  double height() const { return kLineOfText * static_cast<double>(title.size() + small.size()) + 13; }
};

// A column of boxes, which grows upwards.
class DiagramColumn {
 public:
  DiagramColumn(Html& out, double left) : out_(out), left_(left) {}

  double height() const { return height_; }
  double right() const { return left_ + kWidth; }
  double left() const { return left_; }
  double middle() const { return left_ + kWidth / 2; }

  // The middle of the box.
  double box(const DiagramBox& one) {
    const BoxLines lines(one, kWidth);
    arrow();
    draw(one, lines, {left_, kWidth, lines.height()});
    height_ += lines.height();
    return height_ - lines.height() / 2;
  }
  // Two boxes that read the same.
  void side_by_side(const DiagramBox& first, const DiagramBox& second) {
    const BoxLines of_first(first, kHalf), of_second(second, kHalf);
    const double height = std::max(of_first.height(), of_second.height());
    arrow();
    draw(first, of_first, {left_, kHalf, height});
    draw(second, of_second, {left_ + kWidth - kHalf, kHalf, height});
    height_ += height;
  }
  // A box of one line.
  void line(const DiagramBox& one, std::string_view kind) {
    arrow();
    line_at({left_, kWidth, kLine}, one, fmt::format("{}, {}", one.title, describe_parameters(one)), kind);
    height_ += kLine;
  }
  // The norms of two boxes that follow side by side.
  void norms_side_by_side(const DiagramBox& first, const DiagramBox& second) {
    arrow();
    const auto words = [](const DiagramBox& one) {
      return fmt::format("{}, {} &#215; {}", one.title, one.layers, grouped(one.parameters / one.layers));
    };
    line_at({left_, kHalf, kLine}, first, words(first), "norm");
    line_at({left_ + kWidth - kHalf, kHalf, kLine}, second, words(second), "norm");
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
  struct Place {
    double left, width, height;
  };

  void line_at(const Place& place, const DiagramBox& one, std::string_view words, std::string_view kind) {
    out_.add("<g class=\"{}\" data-parameters=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"/>",
             kind, one.parameters, place.left, -height_ - place.height, place.width, place.height);
    text(place.left + place.width / 2, height_ + place.height / 2 - 4, words, "small");
    out_.add("</g>\n");
  }
  // Above what there is.
  void draw(const DiagramBox& one, const BoxLines& lines, const Place& place) {
    out_.add("<g class=\"part\" data-parameters=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"/>",
             one.parameters, place.left, -height_ - place.height, place.width, place.height);
    const double middle = place.left + place.width / 2;
    double at = height_ + place.height - 3;
    for (const std::string& line : lines.title) {
      text(middle, at -= kLineOfText, line, "title");
    }
    for (const std::string& line : lines.small) {
      text(middle, at -= kLineOfText, line, "small");
    }
    out_.add("</g>\n");
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
      const double source = embedding(left, Stack::encoder, "source tokens", config_.source_vocabulary, Own::yes);
      stack(left, Stack::encoder);
      memory = left.height();
      const Own own = config_.tying == Tying::all ? Own::no : Own::yes;
      const double target =
          embedding(right, Stack::decoder, "target tokens, shifted right", config_.target_vocabulary, own);
      if (own == Own::no) {
        parts_.add("<path class=\"tied\" d=\"M{} {}L{} {}\"/>", left.right(), -source, right.left(), -target);
      }
      body(right, Stack::decoder, target);
      link_memory(left, right, memory);
    } else {
      const bool encodes = config_.architecture == Architecture::encoder;
      const Stack only = encodes ? Stack::encoder : Stack::decoder;
      const double tokens =
          embedding(right, only, "tokens", encodes ? config_.source_vocabulary : config_.target_vocabulary, Own::yes);
      body(right, only, tokens);
    }
    return framed(std::max(left.height(), right.height()) + 16, right.right() + kAround + 22);
  }

 private:
  enum class Own : uint8_t { no, yes };

  std::string framed(double height, double width) {
    return fmt::format(
        "<svg class=\"architecture\" role=\"img\" aria-label=\"Architecture: {}\" viewBox=\"0 {} {} {}\" "
        "style=\"max-width:{}px\">\n{}</svg>\n",
        describe(config_.architecture), -height, width, height + 8, width, parts_.take());
  }

  // The middle of the box.
  double embedding(DiagramColumn& column, Stack reader, std::string_view tokens, int64_t vocabulary, Own own) {
    column.label(tokens);
    Facts facts = embedding_facts(config_);
    if (own == Own::no) {
      facts.insert(facts.begin(), "the same table");
    }
    return column.box({.title = fmt::format("Embedding, {} &#8594; {}", grouped(vocabulary), grouped(config_.model)),
                       .facts = std::move(facts),
                       .parameters = counts_.of_embedding(reader)});
  }

  std::string norm_name() const {
    return std::string(config_.norm == NormKind::rms ? "RMS norm" : "Layer norm") +
           (config_.norm_gain == NormGain::plus_one ? ", 1 + gain" : "");
  }

  // That have weights of their own.
  int64_t own_layers(Stack stack) const {
    const int64_t layers = config_.layers_of(stack);
    return config_.shared_layers == SharedLayers::yes ? std::min<int64_t>(1, layers) : layers;
  }

  void norm(DiagramColumn& column, Stack stack, Sublayer part, WeightRole role) {
    column.line({norm_name(), {}, counts_.of_norms(stack, part, role), own_layers(stack)}, "norm");
  }

  DiagramBox box_of(Stack stack, Sublayer part) const {
    const bool crosses = part == Sublayer::cross_attention, feeds_forward = part == Sublayer::feed_forward;
    return {.title = feeds_forward                                       ? "Feed-forward"
                     : crosses                                           ? "Cross-attention"
                     : stack == Stack::decoder && config_.is_recurrent() ? "Simple recurrence"
                     : stack == Stack::decoder                           ? "Causal self-attention"
                                                                         : "Self-attention",
            .facts = feeds_forward ? feed_forward_facts(config_)
                     : crosses     ? cross_attention_facts(config_)
                                   : self_attention_facts(config_, stack),
            .parameters = counts_.of_sublayer(stack, part),
            .layers = own_layers(stack),
            .widths = (feeds_forward
                           ? config_.inner.is_uniform()
                           : config_.key_value_heads.is_uniform() && (crosses || config_.value_embeddings.is_uniform()))
                          ? DiagramBox::Layers::alike
                          : DiagramBox::Layers::different};
  }

  // A branch around the residual stream, with its norms. The middle of its box.
  double sublayer(DiagramColumn& column, Stack stack, Sublayer part) {
    const double from = column.height();
    const NormPlacement placement = config_.placement;
    if (placement == NormPlacement::pre || placement == NormPlacement::sandwich) {
      norm(column, stack, part, WeightRole::sublayer_norm);
    }
    const double middle = column.box(box_of(stack, part));
    if (placement == NormPlacement::branch || placement == NormPlacement::sandwich) {
      norm(column, stack, part, WeightRole::branch_norm);
    }
    column.plus(from);
    if (placement == NormPlacement::post) {
      norm(column, stack, part, WeightRole::sublayer_norm);
    }
    return middle;
  }

  void parallel_layer(DiagramColumn& column, Stack stack) {
    const double from = column.height();
    if (config_.branches == Branches::parallel_own_norms) {
      const auto norm_of = [&](Sublayer part) {
        return DiagramBox{.title = norm_name(),
                          .parameters = counts_.of_norms(stack, part, WeightRole::sublayer_norm),
                          .layers = own_layers(stack)};
      };
      column.norms_side_by_side(norm_of(Sublayer::self_attention), norm_of(Sublayer::feed_forward));
    } else {
      norm(column, stack, Sublayer::self_attention, WeightRole::sublayer_norm);
    }
    column.side_by_side(box_of(stack, Sublayer::self_attention), box_of(stack, Sublayer::feed_forward));
    column.plus(from);
  }

  void stack(DiagramColumn& column, Stack one) {
    const int64_t shared = counts_.beside_layers(one, WeightRole::relative_bias);
    if (shared > 0) {
      column.line({"Relative bias of all layers", {}, shared, 1}, "norm");
    }
    if (const int64_t values = counts_.beside_layers(one, WeightRole::value_embedding); values > 0) {
      column.line({"Value embeddings", {}, values, 1}, "norm");
    }
    if (const int64_t skips = counts_.of_skips(one); skips > 0) {
      column.line({"Skips to mirrored layers", {}, skips, 1}, "norm");
    }
    const double from = column.height();
    if (config_.layers_of(one) > 0) {
      layer(column, one);
      column.layers(from, config_.layers_of(one));
    }
    if (config_.final_norm == FinalNorm::present) {
      column.line({norm_name(), {}, counts_.beside_layers(one, WeightRole::final_norm), 1}, "norm");
    }
  }

  void layer(DiagramColumn& column, Stack one) {
    const bool crosses = config_.architecture == Architecture::seq2seq && one == Stack::decoder;
    if (config_.branches != Branches::sequential) {
      parallel_layer(column, one);
      return;
    }
    sublayer(column, one, Sublayer::self_attention);
    if (crosses) {
      cross_ = sublayer(column, one, Sublayer::cross_attention);
    }
    sublayer(column, one, Sublayer::feed_forward);
  }

  // The stack and what is made of its output. `table`: the middle of the embedding, for a tied output.
  void body(DiagramColumn& column, Stack one, double table) {
    stack(column, one);
    const bool encodes = config_.architecture == Architecture::encoder;
    const bool of_tokens = !encodes || config_.head == Head::tokens;
    if (encodes && !of_tokens && config_.head != Head::token_labels) {
      column.line({fmt::format("Pooling: {}", describe_setting(config_, "pooling")), {}, 0, 1}, "norm");
    }
    if (config_.head_layer) {
      column.box({.title = fmt::format("Head layer, {} &#8594; {}", config_.model, config_.width_of_head_layer()),
                  .facts = head_layer_facts(config_),
                  .parameters = counts_.of_head_layer()});
    }
    const bool tied = of_tokens && config_.tying != Tying::none;
    const int64_t outputs = encodes ? config_.encoder_outputs() : config_.target_vocabulary;
    const double output = column.box(
        {.title = fmt::format("{}, {} &#8594; {}", of_tokens ? "Output" : "Head", config_.model, grouped(outputs)),
         .facts = output_facts(config_),
         .parameters = counts_.of_output()});
    if (tied) {
      parts_.add("<path class=\"tied\" d=\"M{0} {1}H{2}V{3}H{0}\"/>", column.right(), -output,
                 column.right() + kAround + 12, -table);
    }
    column.label(describe_prediction(config_));
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
