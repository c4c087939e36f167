// Lines and their translations are scored as pairs with named sides, not as two neighbours of one type.
#include "heed/translator.h"

using namespace heed;

std::vector<PairScore> good(const Translator& translator, std::span<const std::string> sources,
                            std::span<const std::string> targets) {
  return translator.score({.sources = sources, .targets = targets});
}

#ifdef HEED_BAD
// expect-error: cannot convert 'std::span<.*' to 'const heed::LinePairs&'
std::vector<PairScore> neighbours(const Translator& translator, std::span<const std::string> sources,
                                  std::span<const std::string> targets) {
  return translator.score(targets, sources);
}
#endif
