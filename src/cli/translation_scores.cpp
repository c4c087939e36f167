#include "cli/translation_scores.h"

#include <fmt/format.h>

#include "cli/standard_output.h"

namespace heed::cli {

std::string json_members(const TranslationScores& scores) {
  return fmt::format(
      "\"bleu\": {}, \"chrf2\": {}, \"chrf2pp\": {}, \"signature\": \"{}\", \"chrf2_signature\": \"{}\", "
      "\"chrf2pp_signature\": \"{}\", \"precisions\": [{}], \"brevity_penalty\": {}, \"hypothesis_length\": {}, "
      "\"reference_length\": {}, \"sentences\": {}",
      scores.bleu.score, scores.chrf2.score, scores.chrf2pp.score, scores.bleu.signature, scores.chrf2.signature,
      scores.chrf2pp.signature, fmt::join(scores.precisions, ", "), scores.brevity_penalty, scores.hypothesis_length,
      scores.reference_length, scores.sentences);
}

void print_scores(const TranslationScores& scores) {
  put("BLEU     {:6.2f}   {:.1f} (BP {:.3f}, {} words for {} of the reference)\n", scores.bleu.score,
      fmt::join(scores.precisions, "/"), scores.brevity_penalty, scores.hypothesis_length, scores.reference_length);
  put("chrF2    {:6.2f}\nchrF2++  {:6.2f}\n\n", scores.chrf2.score, scores.chrf2pp.score);
}

void print_signatures(const TranslationScores& scores) {
  put("BLEU     {}\nchrF2    {}\nchrF2++  {}\n", scores.bleu.signature, scores.chrf2.signature,
      scores.chrf2pp.signature);
}

}  // namespace heed::cli
