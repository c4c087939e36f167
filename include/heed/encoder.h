// Labels of texts and of words, embeddings, and guesses for masked words.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/types/attention.h"
#include "heed/types/forward.h"
#include "heed/types/inference.h"
#include "heed/types/reading/labeled_files.h"
#include "heed/types/reading/labels.h"
#include "heed/types/reading/on_result.h"
#include "heed/types/reading/reading.h"
#include "heed/types/train.h"
#include "heed/types/workload.h"

namespace heed {

// Files with labels, as a recipe's data.validation has them; "-" is the standard input.
struct LabeledTextFile {
  std::string file;
  TextColumns columns = TextColumns::one;
};
struct LabeledWordFile {
  std::string file;
  WordFormat format = WordFormat::columns;
};

struct LabelReport {
  Scores scores;                 // as at validations in training
  int64_t texts = 0, words = 0;  // words: of models trained by the task tag; texts are sentences then
  double seconds = 0.0;
};

// A model that reads texts, from its directory: an encoder, or for embeddings a model of any kind. Safe to call from
// several threads at once, which share its weights. A text's result depends only on the text and the model, to the last
// bit: not on the other texts, nor on the number of threads.
class Encoder {
 public:
  // Throws, naming the file, when the directory is incomplete.
  explicit Encoder(const std::string& directory, const InferenceOptions& options = {});
  ~Encoder();
  Encoder(Encoder&& other) noexcept;
  Encoder& operator=(Encoder&& other) noexcept;

  Precision precision() const;  // what it computes in: f32 or bf16
  int threads() const;
  int64_t parameters() const;
  int64_t max_length() const;  // tokens that the model takes
  int64_t embedding_width() const;
  // What it was trained to read: nothing where its directory, written by an earlier version, does not say.
  std::optional<TextColumns> columns() const;
  std::vector<std::string> labels() const;  // those of its head; none: it gives a number, or has no head
  std::string task() const;  // that trains its head, as training.task has it: classify, tag or masked-lm; or empty

  Workload workload() const;  // at this moment; never waits for a batch

  // Texts of calls that come at the same time are read together. `reading` says which go first, and may interrupt a
  // call before all of its texts were read: then the call throws InterruptedError. What is found of a text is told to
  // `on_result` before the call returns all.

  // Names a text in errors, by its number, from 0.
  using TextName = std::function<std::string(size_t text)>;

  // For models trained by the task classify. Throws before anything is read when the model has no such head, was
  // trained on pairs and is given single texts or the other way round, or when a text is not UTF-8 or too long.
  std::vector<TextLabels> classify(std::span<const std::string> texts, const TextName& name = {},
                                   const ReadingOptions& reading = {},
                                   const OnResult<TextLabels>& on_result = {}) const;
  std::vector<TextLabels> classify(std::span<const TextPair> pairs, const TextName& name = {},
                                   const ReadingOptions& reading = {},
                                   const OnResult<TextLabels>& on_result = {}) const;

  // A label for each word, for models trained by the task tag. Throws for the same reasons.
  std::vector<std::vector<std::string>> tag(std::span<const std::vector<std::string>> sentences,
                                            const TextName& name = {}, const ReadingOptions& reading = {},
                                            const OnResult<std::vector<std::string>>& on_result = {}) const;
  // The same, with the probability of every label for each word.
  std::vector<std::vector<TextLabels>> tag_scores(std::span<const std::vector<std::string>> sentences,
                                                  const TextName& name = {}, const ReadingOptions& reading = {},
                                                  const OnResult<std::vector<TextLabels>>& on_result = {}) const;

  // For any model: embedding_width() numbers for each text, made of the last layer's rows; of an encoder-decoder, of
  // its encoder's, which reads the text as a source. Throws for the same reasons, and for a prompt's name that the
  // model lacks, or that is given together with a prompt.
  std::vector<std::vector<float>> embed(std::span<const std::string> texts, const TextEmbeddingOptions& choice = {},
                                        const TextName& name = {}, const ReadingOptions& reading = {},
                                        const OnResult<std::vector<float>>& on_result = {}) const;
  std::vector<std::vector<float>> embed(std::span<const TextPair> pairs, const TextEmbeddingOptions& choice = {},
                                        const TextName& name = {}, const ReadingOptions& reading = {},
                                        const OnResult<std::vector<float>>& on_result = {}) const;

  // The same into an array of the caller's, text by text: it has room for embedding_width() numbers for each, or this
  // throws ConfigError.
  void embed_into(std::span<float> to, std::span<const std::string> texts, const TextEmbeddingOptions& choice = {},
                  const TextName& name = {}, const ReadingOptions& reading = {}) const;

  // What the model attends to when it reads a text. Only for encoders; throws for the same reasons as classify(), and
  // for a request that the model can't answer.
  TextAttention attention(const std::string& text, const AttentionRequest& request,
                          const std::string& where = "text") const;

  // What it reads of a text, marks included, and what it computes from tokens. Only for encoders; throws as attention()
  // does, and for tokens that are none.
  std::vector<int32_t> tokens(const std::string& text, const ReadingOptions& reading = {},
                              const std::string& where = "text") const;
  ForwardResult forward(std::span<const int32_t> tokens, const ForwardRequest& request = {}) const;

  // How its tokenizer writes a mask; empty where the model can't fill masks.
  std::string mask() const;

  // The tokens that the model reads for each text that it embeds, marks and a prompt included. Throws for the same
  // reasons.
  std::vector<int64_t> count_tokens(std::span<const std::string> texts, const TextEmbeddingOptions& choice = {},
                                    const TextName& name = {}) const;

  // For masked language models: what each mask in the texts hides. Throws before anything is read when the model has no
  // such head or its tokenizer no such mask, and for a text that has none, is not UTF-8 or too long. Special tokens are
  // never guesses.
  std::vector<FilledText> fill(std::span<const std::string> texts, const FillOptions& options = {},
                               const TextName& name = {}, const ReadingOptions& reading = {},
                               const OnResult<FilledText>& on_result = {}) const;

  // How well a model trained by the task classify or tag predicts the labels of a file. Texts that are too long are
  // cut, as in training. Throws when the model has no such head and, naming the line, for what is no such text and for
  // a label that the model lacks.
  LabelReport evaluate(const LabeledTextFile& test) const;
  LabelReport evaluate(const LabeledWordFile& test) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct EmbeddingFiles {
  std::string input;   // texts, a line each
  std::string output;  // a NumPy array of float32, [lines, embedding_width()]
  TextColumns columns = TextColumns::one;
};

// Embeds each line of a file. Throws for the same reasons, and then writes nothing.
void embed_file(const Encoder& encoder, const EmbeddingFiles& files, const TextEmbeddingOptions& choice = {});

// The same as the content of such a file: a NumPy array of float32, [rows, width].
std::string numpy_file(const std::vector<std::vector<float>>& rows, int64_t width);

// The two texts of a line, with a tab between them. Throws, naming `where`, for a line with another number of columns.
TextPair text_pair(const std::string& line, const std::string& where);

// The cosine of the angle between two embeddings; 0 where one of them is zero.
double cosine_similarity(std::span<const float> a, std::span<const float> b);

}  // namespace heed
