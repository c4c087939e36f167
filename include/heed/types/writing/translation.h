// Options and results of translation.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/types/interruption.h"
#include "heed/types/names.h"
#include "heed/types/sharing.h"
#include "heed/types/writing/beam_trace.h"
#include "heed/types/writing/token_scores.h"
#include "heed/types/writing/writing_rules.h"

namespace heed {

enum class Alignments : uint8_t { none, pieces };

// What becomes of a word that the model writes as unknown: it stays as the tokenizer shows it, is never written, or is
// replaced by the source's word that it attends to most.
enum class UnknownWords : uint8_t { keep, avoid, copy };

inline constexpr std::array<NamedValue<UnknownWords>, 3> kUnknownWordsNames{
    {{"keep", UnknownWords::keep}, {"avoid", UnknownWords::avoid}, {"copy", UnknownWords::copy}}};

// When the search of a line ends before its maximum length:
//   on       when beam * patience hypotheses have ended; a beam of 1 always ends so
//   off      when as many as the beam have ended, and the best one that goes on, scored at its present length, is no
//            better than the worst of the best `beam` ended ones
//   never    the same, with the best score that it could reach at any length
enum class EarlyStopping : uint8_t { on, off, never };

inline constexpr std::array<NamedValue<EarlyStopping>, 3> kEarlyStoppingNames{
    {{"true", EarlyStopping::on}, {"false", EarlyStopping::off}, {"never", EarlyStopping::never}}};

// Whether the steps of a line's search are listed.
enum class SearchSteps : uint8_t { left_out, listed };

// For a model that knows several languages, as its vocabulary has them: "de", "deu_Latn", "de_DE". Empty: the model's own,
// or the only one.
struct LanguagePair {
  std::string source = {}, target = {};
};

//   score = (sum of log-probabilities l) / length^length_penalty      length: tokens of the translation and its end
//         + coverage_penalty * (sum over source tokens of ln min(1, the attention that all target tokens paid to it))
// where l is multiplied by repetition_penalty if the hypothesis has the token already, the start or a prompt included.
struct TranslationOptions {
  int64_t beam = 1;  // hypotheses kept per sentence; 1 is greedy
  double length_penalty = 1.0;
  int64_t n_best = 1;  // translations of each line, best first; at most the beam
  // Tokens, the end included, within the model's own limit. 0: 16 more than the largest of twice the source, the prefix
  // with the forced texts, and the minimum length.
  int64_t max_length = 0;
  Alignments alignments = Alignments::none;
  Interruption interruption;
  Sharing sharing = {};
  WritingRules rules = {};
  // How translations begin: one prefix for each line, "" for none; or none at all. They are part of the translations
  // and of their scores.
  std::vector<std::string> prefixes = {};
  // Texts that every translation contains: as the target's tokenizer cuts them, so that one may be a part of a longer
  // word. The beam must be larger than the number of their tokens.
  std::vector<std::string> force = {};
  EachToken each = EachToken::left_out;  // whether translations have their tokens' scores
  int64_t groups = 1;                    // that the beam is divided into, to find different translations
  // What a token costs a group for each hypothesis of the groups before it that took the token in this step.
  double diversity = 0.5;
  double coverage_penalty = 0.0;
  double repetition_penalty = 1.0;
  double patience = 1.0;  // with early stopping, a search ends with beam * patience translations
  EarlyStopping early_stopping = EarlyStopping::on;
  // The N most likely next tokens after the prefix, each with its best translation; 0: off.
  int64_t alternatives = 0;
  UnknownWords unknown = UnknownWords::keep;
  LanguagePair languages = {};
  // With `each`: how many of the likeliest tokens are listed at the place of each, 0 to kMaxLikeliest.
  int64_t likeliest = 0;
  SearchSteps steps = SearchSteps::left_out;
};

// Token `target` of the translation attends most to token `source` of the line; both count from 0.
struct AlignedPair {
  int64_t source = 0, target = 0;
};

struct Translation {
  std::string text;  // without line breaks
  double score = 0.0, log_probability = 0.0;
  int64_t tokens = 0;         // the end included
  int64_t source_tokens = 0;  // that the model read, its marks included; 0 for a blank line
  std::vector<AlignedPair> alignment;
  // Where asked for: its tokens, the end included. Their offsets are those in the text before unknown words are copied.
  std::vector<ScoredToken> each = {};
  // Where asked for, of a line's first translation: how its beam grew; and where each translation ended in it, as far as
  // that is listed.
  BeamTrace trace = {};
  std::optional<BeamPlace> place = {};
  // When the first token of the line's translations was there; none for a blank line.
  std::optional<std::chrono::steady_clock::time_point> first_token = {};
};

// Receives translations while they are written. All calls come from the thread that called translate(), so that the
// model goes on meanwhile.
class TranslationListener {
 public:
  virtual ~TranslationListener() = default;
  // The next token of the best translation of line number `line`, from 0, where the options list each: before the piece
  // that its text is in.
  virtual void on_token(size_t /*line*/, const ScoredToken& /*token*/) {}
  // The next part of its text, as soon as that is certain; the pieces together are the text. With a beam above 1, and
  // where unknown words are copied, the text is one piece.
  virtual void on_piece(size_t /*line*/, std::string_view /*piece*/) {}
  // Where the options list the search's steps: what the next one considered.
  virtual void on_step(size_t /*line*/, std::span<const BeamHypothesis> /*hypotheses*/) {}
  // What is returned for the line, as soon as it is ready.
  virtual void on_translations(size_t /*line*/, std::span<const Translation> /*translations*/) {}
};

// Lines and their translations, as many of the one as of the other.
struct LinePairs {
  std::span<const std::string> sources, targets;
};

struct PairScore {
  double log_probability = 0.0;  // of the target, its end included, given the source; natural logarithm
  int64_t tokens = 0;            // of the target, its end included
};

// Names a line in errors, by its position in the input, from 0.
using LineName = std::function<std::string(size_t line)>;

struct LinePairName {
  LineName source, target;
};

}  // namespace heed
