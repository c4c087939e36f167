#include "cli/output/translation_scores.h"

#include <fmt/format.h>

#include "cli/output/standard_output.h"

namespace heed::cli {

std::string json_members(const TranslationScores& scores) {
  return fmt::format(
      "\"bleu\": {}, \"chrf2\": {}, \"chrf2pp\": {}, \"signature\": \"{}\", \"chrf2_signature\": \"{}\", "
      "\"chrf2pp_signature\": \"{}\", \"precisions\": [{}], \"brevity_penalty\": {}, \"hypothesis_length\": {}, "
      "\"reference_length\": {}, \"sentences\": {}",
      scores.bleu.score, scores.chrf2, scores.chrf2pp, scores.bleu_signature, scores.chrf2_signature,
      scores.chrf2pp_signature, fmt::join(scores.bleu.precisions, ", "), scores.bleu.brevity_penalty,
      scores.bleu.hypothesis_length, scores.bleu.reference_length, scores.sentences);
}

void print_scores(const TranslationScores& scores) {
  put("BLEU     {:6.2f}   {:.1f} (BP {:.3f}, {} words for {} of the reference)\n", scores.bleu.score,
      fmt::join(scores.bleu.precisions, "/"), scores.bleu.brevity_penalty, scores.bleu.hypothesis_length,
      scores.bleu.reference_length);
  put("chrF2    {:6.2f}\nchrF2++  {:6.2f}\n\n", scores.chrf2, scores.chrf2pp);
}

void print_signatures(const TranslationScores& scores) {
  put("BLEU     {}\nchrF2    {}\nchrF2++  {}\n", scores.bleu_signature, scores.chrf2_signature,
      scores.chrf2pp_signature);
}

}  // namespace heed::cli
