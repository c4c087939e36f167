#include "api/inside/text_attention.h"

#include <algorithm>

#include "base/rounding.h"
#include "kernels/host_copy.h"
#include "report/figures/tokens_and_maps.h"

namespace heed {
namespace {

constexpr int64_t kMostHeld = int64_t{1} << 27;   // weights of one layer, which are computed at once
constexpr int64_t kMostGiven = int64_t{1} << 25;  // numbers of all maps that are asked for

// Each number the largest of some neighbours.
std::vector<float> made_smaller(std::span<const float> values, const AttentionMap& whole, int64_t rows,
                                int64_t columns) {
  std::vector<float> small(static_cast<size_t>(rows * columns), 0.0F);
  const int64_t down = ceil_div(whole.rows, rows), across = ceil_div(whole.columns, columns);
  for (int64_t row = 0; row < whole.rows; ++row) {
    for (int64_t column = 0; column < whole.columns; ++column) {
      float& to = small[static_cast<size_t>(row / down * columns + column / across)];
      to = std::max(to, values[static_cast<size_t>(row * whole.columns + column)]);
    }
  }
  return small;
}

// So many numbers that at most `most` are left when the same number of neighbours become one.
int64_t fewer(int64_t count, int64_t most) {
  return most == 0 || count <= most ? count : ceil_div(count, ceil_div(count, most));
}

// Takes the maps that are asked for out of one layer's.
class MapTaker {
 public:
  MapTaker(const AttentionRequest& request, const Inference& inference, size_t layers, TextAttention& into)
      : request_(request), backend_(inference.backend), into_(into) {
    into_.layers = static_cast<int64_t>(layers);
    into_.heads = inference.model.config().heads;
    const auto all_within = [](const std::vector<int64_t>& some, int64_t count) {
      return std::ranges::all_of(some, [&](int64_t one) { return one >= 0 && one < count; });
    };
    require<ConfigError>(all_within(request.layers, into_.layers), "layers", "the model has {} of this kind", layers);
    require<ConfigError>(all_within(request.heads, into_.heads), "heads", "the model has {}", into_.heads);
    require<ConfigError>(request.at_most >= 0, "size of maps", "expected at least 0, found {}", request.at_most);
    const int64_t rows = std::ssize(into_.rows), columns = std::ssize(into_.columns);
    require<ConfigError>(rows * columns * into_.heads <= kMostHeld, "attention",
                         "a layer has {} weights for this text, more than the {} that fit",
                         rows * columns * into_.heads, kMostHeld);
    const auto wanted = [](const std::vector<int64_t>& some, int64_t all) {
      return some.empty() ? all : std::ssize(some);
    };
    const int64_t given = fewer(rows, request.at_most) * fewer(columns, request.at_most) *
                          wanted(request.layers, into_.layers) * wanted(request.heads, into_.heads) *
                          (request.norms == AttentionNorms::computed ? 2 : 1);
    require<ConfigError>(given <= kMostGiven, "attention",
                         "{} numbers are asked for, more than the {} that fit: ask for some layers and heads, or for "
                         "smaller maps",
                         given, kMostGiven);
  }

  void require_uninterrupted() const { heed::require_uninterrupted(state_of(request_.interruption), "attention"); }
  bool wants(size_t layer) const { return is_in(request_.layers, static_cast<int64_t>(layer)); }
  ValueNorms norms() const {
    return request_.norms == AttentionNorms::computed ? ValueNorms::wanted : ValueNorms::left_out;
  }

  // `norms` [heads, keys], or empty.
  void take(size_t layer, const Tensor& weights, const Tensor& norms) {
    require<ConfigError>(!weights.empty(), "attention", "layer {} has no attention of this kind", layer + 1);
    const int64_t rows = std::ssize(into_.rows), columns = std::ssize(into_.columns), size = rows * columns;
    const HostCopy copy(backend_, weights.view());
    const float* const values = host<float>(copy.view()).data;
    for (int64_t head = 0; head < into_.heads; ++head) {
      if (!is_in(request_.heads, head)) {
        continue;
      }
      AttentionMap map{static_cast<int64_t>(layer), head, rows, columns, {}, {}};
      map.weights.assign(values + head * size, values + (head + 1) * size);
      if (!norms.empty()) {
        const float* const lengths = norms.data<float>() + head * columns;
        map.norms = map.weights;
        for (int64_t i = 0; i < size; ++i) {
          map.norms[static_cast<size_t>(i)] *= lengths[i % columns];
        }
      }
      into_.maps.push_back(in_size(std::move(map)));
      if (request_.on_map) {
        request_.on_map(into_.maps.back());
      }
    }
  }

 private:
  static bool is_in(const std::vector<int64_t>& some, int64_t one) {
    return some.empty() || std::ranges::find(some, one) != some.end();
  }
  AttentionMap in_size(AttentionMap map) const {
    const int64_t rows = fewer(map.rows, request_.at_most), columns = fewer(map.columns, request_.at_most);
    if (rows != map.rows || columns != map.columns) {
      map.weights = made_smaller(map.weights, map, rows, columns);
      map.norms = map.norms.empty() ? map.norms : made_smaller(map.norms, map, rows, columns);
      map.rows = rows;
      map.columns = columns;
    }
    return map;
  }

  const AttentionRequest& request_;
  Backend& backend_;
  TextAttention& into_;
};

// Runs a stack so that the maps of one layer at most are held. `run(stream, range, call)` runs some layers.
template <class Run>
void read_layers(MapTaker& taker, size_t layers, AttentionKind kind, Stream stream, Run run) {
  for (size_t layer = 0; layer < layers; ++layer) {
    taker.require_uninterrupted();
    AttentionMaps maps{.self = {}, .cross = {}, .wanted = taker.norms()};
    const bool is_wanted = taker.wants(layer);
    stream = run(stream, LayerRange{layer, layer + 1},
                 StackCall{.self_mask = {}, .cross_mask = {}, .maps = is_wanted ? &maps : nullptr});
    if (is_wanted && kind == AttentionKind::cross) {
      taker.take(layer, maps.cross[layer], maps.cross_norms[layer]);
    } else if (is_wanted) {
      taker.take(layer, maps.self[layer], maps.self_norms[layer]);
    }
  }
}

void read_stack(Pass& pass, MapTaker& taker, const SelfAttentionStack& stack, const Var& embedded,
                const Sequences& tokens) {
  read_layers(taker, stack.size(), AttentionKind::encoder, stack.enter(pass, embedded),
              [&](const Stream& stream, const LayerRange& range, const StackCall& call) {
                return stack.run(pass, stream, range, tokens, call);
              });
}

}  // namespace

TextAttention attention_of_pair(const Inference& inference, const TranslationTokenizers& tokenizers,
                                const PairTokens& tokens, const AttentionRequest& request) {
  const Seq2Seq& model = inference.model.seq2seq();
  const bool is_encoder = request.kind == AttentionKind::encoder;
  const auto& [source, fed] = tokens;
  std::vector<int32_t> written(fed.begin() + 1, fed.end());
  written.push_back(tokenizers.target.special().eos.value);
  TextAttention found;
  found.rows = is_encoder ? pieces_of(tokenizers.source, source) : pieces_of(tokenizers.target, written);
  found.columns =
      request.kind == AttentionKind::decoder ? pieces_of(tokenizers.target, fed) : pieces_of(tokenizers.source, source);
  found.tokens = std::ssize(source) + (is_encoder ? 0 : std::ssize(fed));
  const SourceSequences sources({source});
  const TargetSequences targets({fed});
  Pass pass = Pass::infer(inference.backend, inference.storage);
  MapTaker taker(request, inference, is_encoder ? model.encoder().size() : model.decoder().size(), found);
  if (is_encoder) {
    read_stack(pass, taker, model.encoder(), model.source_embedding()(pass, sources), sources);
    return found;
  }
  const Memory memory = model.encode(pass, sources);
  const Decoder& decoder = model.decoder();
  read_layers(taker, decoder.size(), request.kind, decoder.enter(pass, model.target_embedding()(pass, targets)),
              [&](const Stream& stream, const LayerRange& range, const StackCall& call) {
                return decoder.run(pass, stream, range, targets, memory, call);
              });
  return found;
}

TextAttention attention_of_text(const Inference& inference, const Tokenizer& tokenizer, const Sequences& tokens,
                                std::span<const int32_t> ids, const AttentionRequest& request) {
  const bool is_encoder = inference.model.config().architecture == Architecture::encoder;
  const AttentionKind kind = is_encoder ? AttentionKind::encoder : AttentionKind::decoder;
  require<ConfigError>(request.kind == kind, "kind", "this model has attention of the kind {} alone",
                       name_among(kAttentionKindNames, kind));
  TextAttention found;
  found.rows = found.columns = pieces_of(tokenizer, {ids.begin(), ids.end()});
  found.tokens = std::ssize(ids);
  Pass pass = Pass::infer(inference.backend, inference.storage);
  const SelfAttentionStack& stack =
      is_encoder ? inference.model.encoder_only().stack() : inference.model.causal_lm().stack();
  const Embedding& embedding =
      is_encoder ? inference.model.encoder_only().embedding() : inference.model.causal_lm().embedding();
  MapTaker taker(request, inference, stack.size(), found);
  read_stack(pass, taker, stack, embedding(pass, tokens), tokens);
  return found;
}

}  // namespace heed
