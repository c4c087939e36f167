#include "quant/calibration_sides.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/errors.h"
#include "quant/calibration_text.h"

// With H(y|x) = -log p(y|x) for each token of y, the mean over the lines, u = log(size of the vocabulary), y the
// model's own translation of a line x, x' another line, and t its translation in the file, where that is given:
//
//   x is understood         H(y|x) <= H(y|x') / 8
//   x is like what it writes  H(x|x') < (H(y|x') + u) / 2
//   x, t are swapped        H(x|t) < H(t|x)  and  H(x|x) < H(t|x)
//   x is the target's side  (like what it writes, or swapped), and not understood
//
// Whatever a model reads, it expects the language that it writes: of all texts in that language it has an idea that is
// nearer to its own writing than to a uniform guess, while another language surprises it more than a guess would. A
// model that writes what it also reads, since it was trained for both directions or translates within one language, is
// told apart by how much its translation depends on the line.
//
//   t = x for most lines: refused unless H(x|x) <= H(x|x') / 8

namespace heed {
namespace {

constexpr size_t kLinesJudged = 128;
constexpr double kUnderstood = 1.0 / 8.0;

using Lines = std::span<const std::string>;

// For each line the next one that differs from it; empty where all are the same.
std::vector<std::string> other_lines(Lines lines) {
  std::vector<std::string> others;
  for (size_t i = 0; i < lines.size(); ++i) {
    for (size_t distance = 1; distance < lines.size() && others.size() == i; ++distance) {
      if (const std::string& other = lines[(i + distance) % lines.size()]; other != lines[i]) {
        others.push_back(other);
      }
    }
    if (others.size() == i) {
      return {};
    }
  }
  return others;
}

class Sides {
 public:
  Sides(const TextTranslator& translator, const CalibrationLines& lines, int64_t vocabulary)
      : translator_(translator),
        sources_(lines.sources.first(std::min(lines.sources.size(), kLinesJudged))),
        targets_(lines.targets.first(std::min(lines.targets.size(), kLinesJudged))),
        others_(other_lines(sources_)),
        uniform_(std::log(static_cast<double>(vocabulary))) {}

  bool are_swapped() const {
    const double forwards = surprise(sources_, targets_);
    return surprise(targets_, sources_) < forwards && surprise(sources_, sources_) < forwards;
  }

  bool are_the_same() const {
    size_t same = 0;
    for (size_t i = 0; i < sources_.size(); ++i) {
      same += sources_[i] == targets_[i] ? 1 : 0;
    }
    return 2 * same > sources_.size();
  }

  // One line alone, or lines that are all the same, say nothing: taken as false.
  bool sources_are_like_what_is_written() const {
    return !others_.empty() && surprise(others_, sources_) < (surprise(others_, translations()) + uniform_) / 2.0;
  }

  bool sources_are_understood() const { return depends_on_sources(translations()); }

  // One line alone, or lines that are all the same, say nothing: taken as true.
  bool depends_on_sources(Lines written) const {
    return others_.empty() || surprise(sources_, written) <= kUnderstood * surprise(others_, written);
  }

  Lines sources() const { return sources_; }

 private:
  const std::vector<std::string>& translations() const {
    if (translations_.empty()) {
      for (const std::vector<TranslatedLine>& line :
           translate_lines(translator_, sources_, {.beam = 1}, line_name, TooLong::truncate)) {
        translations_.push_back(line.front().translation.text);
      }
    }
    return translations_;
  }

  static std::string line_name(size_t i) { return fmt::format("line {}", i + 1); }

  // -log p for each token of `targets`, given `sources`.
  double surprise(Lines sources, Lines targets) const {
    double sum = 0.0;
    int64_t tokens = 0;
    for (const PairScore& score :
         score_lines(translator_, {sources, targets}, {line_name, line_name}, TooLong::truncate)) {
      sum -= score.log_probability;
      tokens += score.tokens;
    }
    return sum / static_cast<double>(tokens);
  }

  const TextTranslator& translator_;
  Lines sources_, targets_;
  std::vector<std::string> others_;
  mutable std::vector<std::string> translations_;  // made when they are first needed
  double uniform_;
};

}  // namespace

void require_sides(const TextTranslator& translator, const CalibrationLines& lines, const CalibrationFiles& files,
                   int64_t vocabulary) {
  const Sides sides(translator, lines, vocabulary);
  if (!lines.targets.empty()) {
    require<FormatError>(!sides.are_the_same() || sides.depends_on_sources(sides.sources()), files.target,
                         "has the same lines as {}, but the model does not copy what it reads: give their translations",
                         files.text);
    require<FormatError>(!sides.are_swapped() || sides.sources_are_understood(), files.text,
                         "is the target's side: the model translates from {}, not to it", files.target);
  }
  require<FormatError>(!sides.sources_are_like_what_is_written() || sides.sources_are_understood(), files.text,
                       "reads like what the model writes, not like what it translates: calibrate on source text");
}

}  // namespace heed
