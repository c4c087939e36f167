#include "api/inside/forward.h"

#include "kernels/host_copy.h"

namespace heed {
namespace {

constexpr int64_t kMostNumbers = int64_t{1} << 28;  // of one result

// How many tokens a stack reads, and how many it attends to in another.
struct StackRows {
  int64_t own = 0, memory = 0;
};

int64_t numbers_of_stack(const ModelConfig& config, Stack stack, const StackRows& rows, const ForwardRequest& request) {
  const int64_t layers = config.layers_of(stack);
  return (request.hidden_states ? (layers + 1) * rows.own * config.model : 0) +
         (request.attentions ? layers * config.heads * rows.own * (rows.own + rows.memory) : 0);
}

void require_fits(int64_t numbers) {
  require<ConfigError>(numbers <= kMostNumbers, "forward",
                       "{} numbers are asked for, more than the {} that fit: give fewer tokens, or ask for less",
                       numbers, kMostNumbers);
}

// The maps of a layer for one sequence; none where it has no softmax over keys.
NumberArray map_of(Backend& backend, const Tensor& weights, int64_t heads, int64_t rows, int64_t columns) {
  if (weights.empty()) {
    return {};
  }
  NumberArray map = numbers_of(backend, weights.view());
  map.shape = {heads, rows, columns};
  return map;
}

// Runs a stack layer by layer, and keeps what is asked for. An op may change its inputs in place, so that a state is
// copied before the next layer runs.
class StackReader {
 public:
  StackReader(const Inference& inference, const ForwardRequest& request, const StackRows& rows, StackStates& into)
      : backend_(inference.backend),
        request_(request),
        heads_(inference.model.config().heads),
        rows_(rows),
        into_(into) {}

  // `run(stream, range, call)` runs some layers.
  template <class Layers, class Run>
  Hidden read(Pass& pass, const Layers& layers, const Var& embedded, Run run) {
    keep(embedded);
    Stream stream = layers.enter(pass, embedded);
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      AttentionMaps maps;
      stream = run(stream, LayerRange{layer, layer + 1},
                   StackCall{.self_mask = {}, .cross_mask = {}, .maps = request_.attentions ? &maps : nullptr});
      if (request_.attentions) {
        into_.attention.push_back(map_of(backend_, maps.self[layer], heads_, rows_.own, rows_.own));
      }
      if (request_.attentions && rows_.memory > 0) {
        into_.cross.push_back(map_of(backend_, maps.cross[layer], heads_, rows_.own, rows_.memory));
      }
      if (layer + 1 < layers.size()) {
        keep(stream.residual);
      }
    }
    Hidden left = layers.leave(pass, stream);
    keep(left.var());
    return left;
  }

 private:
  void keep(const Var& state) {
    if (request_.hidden_states) {
      into_.hidden.push_back(numbers_of(backend_, state.value()));
    }
  }

  Backend& backend_;
  const ForwardRequest& request_;
  int64_t heads_;
  StackRows rows_;
  StackStates& into_;
};

Hidden read_text(Pass& pass, StackReader reader, const Embedding& embedding, const SelfAttentionStack& stack,
                 const Sequences& tokens) {
  return reader.read(pass, stack, embedding(pass, tokens),
                     [&](const Stream& stream, const LayerRange& range, const StackCall& call) {
                       return stack.run(pass, stream, range, tokens, call);
                     });
}

NumberArray numbers_of(Backend& backend, const Logits& logits) { return numbers_of(backend, logits.var().value()); }

ForwardResult forward_of_encoder(const Inference& inference, const Sequences& tokens, const ForwardRequest& request) {
  const EncoderOnly& model = inference.model.encoder_only();
  const ModelConfig& config = inference.model.config();
  ForwardResult result;
  Pass pass = Pass::infer(inference.backend, inference.storage);
  const Hidden hidden =
      read_text(pass, {inference, request, {tokens.rows()}, result.encoder}, model.embedding(), model.stack(), tokens);
  result.embedding = numbers_of(
      inference.backend, model.text_embeddings(pass, hidden, tokens.segments(), config.text_pooling).var().value());
  result.embedding.shape.erase(result.embedding.shape.begin());
  if (config.head == Head::tokens || config.head == Head::token_labels) {
    result.logits = numbers_of(inference.backend, model.logits(pass, hidden));
  } else if (config.head != Head::none) {
    result.logits = numbers_of(inference.backend, model.logits(pass, model.pooled(pass, hidden, tokens.segments())));
  }
  return result;
}

}  // namespace

void require_tokens(std::span<const int32_t> tokens, int64_t vocabulary, int64_t most, std::string_view where) {
  const int64_t count = std::ssize(tokens);
  require<FormatError>(count >= 1 && count <= most, where, "{} tokens, expected 1 to {}", count, most);
  for (const int32_t token : tokens) {
    require<FormatError>(token >= 0 && token < vocabulary, where, "token {} is outside the vocabulary of {}", token,
                         vocabulary);
  }
}

NumberArray numbers_of(Backend& backend, const ConstView& view) {
  const HostCopy copy(backend, view);
  const ConstView on_host = copy.view();
  NumberArray numbers{.shape = {view.rows(), view.columns()}, .values = {}};
  numbers.values.reserve(static_cast<size_t>(view.rows() * view.columns()));
  for (int64_t row = 0; row < view.rows(); ++row) {
    for (int64_t column = 0; column < view.columns(); ++column) {
      numbers.values.push_back(view.type() == DType::bf16 ? static_cast<float>(host<bf16>(on_host)(row, column))
                                                          : host<float>(on_host)(row, column));
    }
  }
  return numbers;
}

ForwardResult forward_of_pair(const Inference& inference, const PairTokens& tokens, const ForwardRequest& request) {
  const Seq2Seq& model = inference.model.seq2seq();
  const ModelConfig& config = inference.model.config();
  require_tokens(tokens.source, config.source_vocabulary, inference.max_length(), "source");
  require_tokens(tokens.target, config.target_vocabulary, inference.max_length(), "target");
  const StackRows of_encoder{std::ssize(tokens.source)}, of_decoder{std::ssize(tokens.target), of_encoder.own};
  require_fits(numbers_of_stack(config, Stack::encoder, of_encoder, request) +
               numbers_of_stack(config, Stack::decoder, of_decoder, request) +
               of_decoder.own * config.target_vocabulary);
  const SourceSequences source({tokens.source});
  const TargetSequences target({tokens.target});
  ForwardResult result;
  Pass pass = Pass::infer(inference.backend, inference.storage);
  const Memory memory{read_text(pass, {inference, request, of_encoder, result.encoder}, model.source_embedding(),
                                model.encoder(), source),
                      &source.segments()};
  const Decoder& decoder = model.decoder();
  const Hidden hidden = StackReader(inference, request, of_decoder, result.decoder)
                            .read(pass, decoder, model.target_embedding()(pass, target),
                                  [&](const Stream& stream, const LayerRange& range, const StackCall& call) {
                                    return decoder.run(pass, stream, range, target, memory, call);
                                  });
  result.logits = numbers_of(inference.backend, model.logits(pass, hidden));
  return result;
}

ForwardResult forward_of_text(const Inference& inference, std::span<const int32_t> tokens,
                              const ForwardRequest& request) {
  const ModelConfig& config = inference.model.config();
  const bool is_encoder = config.architecture == Architecture::encoder;
  const int64_t vocabulary = is_encoder ? config.source_vocabulary : config.target_vocabulary;
  require_tokens(tokens, vocabulary, inference.max_length(), "ids");
  const StackRows rows{std::ssize(tokens)};
  require_fits(numbers_of_stack(config, is_encoder ? Stack::encoder : Stack::decoder, rows, request) +
               rows.own * vocabulary);
  const Sequences sequences(std::vector<std::vector<int32_t>>{{tokens.begin(), tokens.end()}});
  if (is_encoder) {
    return forward_of_encoder(inference, sequences, request);
  }
  const CausalLM& model = inference.model.causal_lm();
  ForwardResult result;
  Pass pass = Pass::infer(inference.backend, inference.storage);
  const Hidden hidden =
      read_text(pass, {inference, request, rows, result.decoder}, model.embedding(), model.stack(), sequences);
  result.logits = numbers_of(inference.backend, model.logits(pass, hidden));
  return result;
}

}  // namespace heed
