// Labels of texts and of words, and embeddings, from a trained encoder.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "heed/inference.h"
#include "heed/labels.h"

namespace heed {

// An encoder from its directory. Safe to call from several threads at once, which share its weights. A text's result
// depends only on the text and the model, to the last bit: not on the other texts, nor on the number of threads.
class Encoder {
 public:
  // Throws, naming the file, when the directory is incomplete or holds a model of another kind.
  explicit Encoder(const std::string& directory, const InferenceOptions& options = {});
  ~Encoder();
  Encoder(Encoder&& other) noexcept;
  Encoder& operator=(Encoder&& other) noexcept;

  Precision precision() const;  // what it computes in: f32 or bf16
  int threads() const;
  int64_t parameters() const;
  int64_t max_length() const;  // tokens that the model takes
  int64_t embedding_width() const;
  std::vector<std::string> labels() const;  // those of its head; none: it gives a number, or has no head

  // Names a text in errors, by its number, from 0.
  using TextName = std::function<std::string(size_t text)>;

  // For models trained by the task classify. Throws before anything is read when the model has no such head, or a text
  // is not UTF-8 or too long.
  std::vector<TextLabels> classify(std::span<const std::string> texts, const TextName& name = {}) const;
  std::vector<TextLabels> classify(std::span<const TextPair> pairs, const TextName& name = {}) const;

  // A label for each word, for models trained by the task tag. Throws for the same reasons.
  std::vector<std::vector<std::string>> tag(std::span<const std::vector<std::string>> sentences,
                                            const TextName& name = {}) const;

  // For any encoder: embedding_width() numbers for each text. Throws for the same reasons.
  std::vector<std::vector<float>> embed(std::span<const std::string> texts, const TextEmbeddingOptions& choice = {},
                                        const TextName& name = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct EmbeddingFiles {
  std::string input;   // texts, a line each
  std::string output;  // a NumPy array of float32, [lines, embedding_width()]
};

// Embeds each line of a file. Throws for the same reasons, and then writes nothing.
void embed_file(const Encoder& encoder, const EmbeddingFiles& files, const TextEmbeddingOptions& choice = {});

// The cosine of the angle between two embeddings; 0 where one of them is zero.
double cosine_similarity(std::span<const float> a, std::span<const float> b);

}  // namespace heed
