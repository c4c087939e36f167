// Translating with a trained model, scoring given translations with it, and measuring how good it is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/types/attention.h"
#include "heed/types/evaluation.h"
#include "heed/types/forward.h"
#include "heed/types/inference.h"
#include "heed/types/reading/on_result.h"
#include "heed/types/workload.h"
#include "heed/types/writing/drafting.h"
#include "heed/types/writing/translation.h"

namespace heed {

// A translation model from its directory. Safe to call from several threads at once, which share its weights. A line's
// translation does not depend on the other lines, nor on the number of threads.
class Translator {
 public:
  // Throws, naming the file, when the directory is incomplete or its parts do not belong together.
  // `drafts` make greedy search faster; they change no translation. `shortlist`, a file that learn_shortlist() wrote,
  // restricts each line to some tokens of the vocabulary: translations are searched and scored among these alone.
  // Empty: the whole vocabulary.
  explicit Translator(const std::string& directory, const InferenceOptions& options = {},
                      const DraftOptions& drafts = {}, const std::string& shortlist = {});
  ~Translator();
  Translator(Translator&& other) noexcept;
  Translator& operator=(Translator&& other) noexcept;

  Precision precision() const;  // what it computes in: f32 or bf16
  int threads() const;
  int64_t parameters() const;  // of all models of an ensemble
  int64_t max_length() const;  // of a line that the model, or each of an ensemble, takes, in tokens, its end included
  Workload workload() const;   // at this moment; never waits for a step of the model
  DraftReport drafts() const;  // of all lines that were translated so far
  // These options, with the values that another program's model gives for its decoding in place of theirs.
  TranslationOptions with_defaults(TranslationOptions options = {}) const;
  // How many tokens a line's translations may have: the vocabulary's, or those that the shortlist leaves the line.
  int64_t candidates(const std::string& line) const;

  // Each line's translations, best first: at least one. A line of white space alone becomes an empty one. Throws before
  // anything is translated when a line is not UTF-8 or longer than the model takes; and InterruptedError when the
  // options' interruption comes first: the listener may have heard of some lines by then.
  std::vector<std::vector<Translation>> translate(std::span<const std::string> lines,
                                                  const TranslationOptions& options = {}, const LineName& name = {},
                                                  TranslationListener* listener = nullptr) const;

  // A line's tokens as the model reads them, its end included: those that alignments count.
  std::vector<std::string> source_pieces(const std::string& line) const;
  // What the model attends to when it reads the line and writes the translation. Throws for the same reasons as
  // score(), and for a request that the model can't answer. Of an ensemble, its first model.
  TextAttention attention(const std::string& line, const std::string& translation, const AttentionRequest& request,
                          const LanguagePair& languages = {}) const;

  // What the model reads of a line and of its translation. Throws as score() does; `where` begins the names of both in
  // errors.
  PairTokens tokens(const std::string& line, const std::string& translation, const LanguagePair& languages = {},
                    std::string_view where = {}) const;
  // What it computes from tokens. Throws for more than it takes, and for tokens that are none. Of an ensemble, its first
  // model.
  ForwardResult forward(const PairTokens& tokens, const ForwardRequest& request = {}) const;

  // Over the whole vocabulary, also where there is a shortlist. Throws for the same reasons, on either side; an
  // interruption takes effect between the batches that are read at once. A pair's score is told to `on_result` before
  // the call returns all.
  std::vector<PairScore> score(const LinePairs& pairs, const LinePairName& name = {},
                               const LanguagePair& languages = {}, const Interruption& interruption = {},
                               const Sharing& sharing = {}, const OnResult<PairScore>& on_result = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct EvaluationOptions {
  std::string source, reference;  // files, one sentence per line
  std::string output;             // where the translations go; nowhere when empty
  LetterCase letters = LetterCase::kept;
  TranslationOptions translation;
};

struct EvaluationReport {
  TranslationScores scores;
  double seconds = 0.0;       // of translating, after the model was loaded
  int64_t target_tokens = 0;  // written, ends included
  double candidates = 0.0;    // the mean of Translator::candidates
  Precision precision = Precision::f32;
  int threads = 0;

  double sentences_per_second() const { return static_cast<double>(scores.sentences) / seconds; }
  double target_tokens_per_second() const { return static_cast<double>(target_tokens) / seconds; }
};

// Translates a test set and scores the translations against the reference.
EvaluationReport evaluate(const Translator& translator, const EvaluationOptions& options);

}  // namespace heed
