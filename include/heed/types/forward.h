// What a model computes on its way from tokens to scores, and what training would change in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

// Numbers row by row, such as those of a matrix [rows, columns].
struct NumberArray {
  std::vector<int64_t> shape;  // empty: there is no such array
  std::vector<float> values;
};

struct NamedArray {
  std::string name;
  NumberArray numbers;
};

// The tokens of a translation as the model reads them: the source with what goes around it, the target with what it
// begins with. The target's row i predicts its token i + 1, and its last row the end.
struct PairTokens {
  std::vector<int32_t> source, target;
};

// What is returned beside the scores.
struct ForwardRequest {
  bool attentions = false;
  bool hidden_states = false;
};

struct StackStates {
  // [tokens, width]: the embedded tokens with their positions, then what each layer adds up to. The last is what is read
  // of the stack, so that a final norm is a part of it.
  std::vector<NumberArray> hidden;
  // [heads, tokens, tokens] of each layer, and of a decoder's attention to the source [heads, tokens, source tokens].
  // Layers without a softmax over keys have none.
  std::vector<NumberArray> attention, cross;
};

struct ForwardResult {
  // [tokens, vocabulary], before the softmax: row i scores the token after token i or, of a masked language model,
  // token i itself. Of heads [tokens, labels] or [1, labels]. A model without a head has none.
  NumberArray logits;
  NumberArray embedding;         // [width], of encoders: the text's, not normalized
  StackStates encoder, decoder;  // of the stacks that the model has; empty where they were not asked for
};

// A text, and what the model is to make of it.
struct LossExample {
  std::vector<int32_t> tokens;    // that it reads; an encoder-decoder's source
  std::vector<int32_t> target;    // of an encoder-decoder; see PairTokens
  std::vector<int32_t> expected;  // of encoders: a token or label for each token (negative: none), or the text's label
  std::vector<double> values;     // of encoders with several labels, 0 or 1 for each; or with numbers
};

struct LossGradients {
  double loss = 0.0;                  // the mean over predictions, in nats, without label smoothing
  int64_t predictions = 0;            // that the loss counts
  std::vector<NamedArray> gradients;  // of that mean, by the names of the parameters, in their order
};

}  // namespace heed
