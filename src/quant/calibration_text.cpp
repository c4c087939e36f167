#include "quant/calibration_text.h"

#include <algorithm>
#include <cmath>

#include "base/rounding.h"
#include "data/lines/line_reader.h"
#include "decode/scoring/perplexity.h"
#include "decode/texts/text_generation.h"
#include "decode/texts/translation/text_translation.h"
#include "decode/texts/translation/translation_frame.h"
#include "encode/encoder_texts.h"
#include "quant/calibration_sides.h"
#include "text/lines/multiline.h"
#include "text/token_ids.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr size_t kBytesRead = size_t{4} << 20;
constexpr int64_t kTokens = 32768;
constexpr int64_t kTokensJudged = 4096;  // of a language model's text, whether it is of the right kind
constexpr double kKnown = 0.5;           // of the tokens, at least

// The beginning of a file, in lines.
std::vector<std::string> first_lines(const std::string& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  size_t bytes = 0;
  for (std::string line; bytes < kBytesRead && reader.next(line);) {
    bytes += line.size() + 1;
    lines.push_back(line);
  }
  require<FormatError>(std::ranges::any_of(lines, [](const std::string& line) { return !is_blank(line); }), path,
                       "has no text to calibrate on");
  return lines;
}

int64_t tokens_in(const std::vector<std::vector<int32_t>>& texts) {
  int64_t tokens = 0;
  for (const std::vector<int32_t>& text : texts) {
    tokens += static_cast<int64_t>(text.size());
  }
  return tokens;
}

// Which of them to take: evenly spaced, at most about kTokens in all.
std::vector<size_t> evenly_spaced(const std::vector<std::vector<int32_t>>& texts) {
  const auto step = static_cast<size_t>(ceil_div(tokens_in(texts), kTokens));
  std::vector<size_t> chosen;
  for (size_t i = 0; i < texts.size(); i += std::max<size_t>(1, step)) {
    chosen.push_back(i);
  }
  return chosen;
}

template <class T>
std::vector<T> chosen_of(const std::vector<T>& all, const std::vector<size_t>& chosen) {
  std::vector<T> some;
  some.reserve(chosen.size());
  std::ranges::transform(chosen, std::back_inserter(some), [&](size_t i) { return all[i]; });
  return some;
}

void require_known(const std::vector<std::vector<int32_t>>& texts, const Tokenizer& tokenizer,
                   const std::string& path) {
  int64_t unknown = 0;
  for (const std::vector<int32_t>& text : texts) {
    unknown += std::ranges::count(text, tokenizer.special().unk.value);
  }
  const double share = static_cast<double>(unknown) / static_cast<double>(std::max<int64_t>(1, tokens_in(texts)));
  require<FormatError>(share <= 1.0 - kKnown, path,
                       "{:.0f}% of its tokens are unknown to the model: calibrate on text of the kind that it reads",
                       100.0 * share);
}

// ---- encoder-decoders ----

class PairCalibration {
 public:
  PairCalibration(const CalibrationFiles& files, const StoredModel& stored, Backend& backend)
      : files_(files),
        stored_(stored),
        scheduler_({stored.model(), backend, DType::f32}),
        translator_{
            .scheduler = scheduler_, .tokenizers = {stored.source(), stored.target()}, .marks = stored.marks()} {
    read();
  }

  CalibrationTokens take() {
    CalibrationTokens tokens{std::move(texts_), {}};
    const std::vector<int32_t> start = TranslationFrame(translator_.tokenizers, translator_.marks, {}).target_start();
    for (const std::vector<int32_t>& target : targets_) {
      tokens.inputs.push_back(start);
      tokens.inputs.back().insert(tokens.inputs.back().end(), target.begin(), target.end());
    }
    return tokens;
  }

 private:
  void read() {
    if (files_.target.empty()) {
      lines_ = first_lines(files_.text);
    } else {
      read_pairs();
    }
    drop_blank_lines();
    for (const std::string& line : lines_) {
      texts_.push_back(cut(source_tokens(translator_, line)));
    }
    const std::vector<size_t> chosen = evenly_spaced(texts_);
    texts_ = chosen_of(texts_, chosen);
    lines_ = chosen_of(lines_, chosen);
    require_known(texts_, stored_.source(), files_.text);
    if (!files_.target.empty()) {
      target_lines_ = chosen_of(target_lines_, chosen);
      for (const std::string& line : target_lines_) {
        targets_.push_back(ids_of(stored_.target().encode(line)));
        targets_.back().resize(std::min(targets_.back().size(), static_cast<size_t>(max_length()) - 1));
      }
    }
    require_sides(translator_, {lines_, target_lines_}, files_, stored_.config().target_vocabulary);
    if (!files_.target.empty()) {
      return;
    }
    const auto name = [](size_t i) { return fmt::format("line {}", i + 1); };
    for (std::vector<TranslatedLine>& line :
         translate_lines(translator_, lines_, {.beam = 1}, name, TooLong::truncate)) {
      targets_.push_back(std::move(line.front().ids));
    }
  }

  void read_pairs() {
    LineReader sources(files_.text), targets(files_.target);
    size_t bytes = 0;
    for (std::string source, target; bytes < kBytesRead; bytes += source.size() + 1) {
      const bool more = sources.next(source), as_many = targets.next(target) == more;
      require<FormatError>(as_many, more ? files_.target : files_.text,
                           "ends after {} lines, but {} has more: they must be parallel", lines_.size(),
                           more ? files_.text : files_.target);
      if (!more) {
        return;
      }
      lines_.push_back(source);
      target_lines_.push_back(target);
    }
  }

  void drop_blank_lines() {
    std::vector<size_t> chosen;
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (!is_blank(lines_[i]) && (files_.target.empty() || !is_blank(target_lines_[i]))) {
        chosen.push_back(i);
      }
    }
    require<FormatError>(!chosen.empty(), files_.text, "has no text to calibrate on");
    lines_ = chosen_of(lines_, chosen);
    if (!files_.target.empty()) {
      target_lines_ = chosen_of(target_lines_, chosen);
    }
  }

  int64_t max_length() const { return stored_.config().max_length; }
  std::vector<int32_t> cut(std::vector<int32_t> ids) const {
    if (static_cast<int64_t>(ids.size()) > max_length()) {
      ids.resize(static_cast<size_t>(max_length()));
      ids.back() = stored_.source().special().eos.value;
    }
    return ids;
  }

  const CalibrationFiles& files_;
  const StoredModel& stored_;
  Scheduler scheduler_;
  TextTranslator translator_;
  std::vector<std::string> lines_, target_lines_;
  std::vector<std::vector<int32_t>> texts_, targets_;
};

// ---- language models and encoders ----

CalibrationTokens windows_of_text(const std::string& path, const StoredModel& stored, Backend& backend) {
  const Tokenizer& tokenizer = stored.text();
  std::vector<TokenId> tokens = encode_text(tokenizer, fmt::format("{}", fmt::join(first_lines(path), "\n")));
  if (begins_with_mark(stored.documents(), tokenizer)) {
    tokens.insert(tokens.begin(), beginning_of_document(tokenizer));
  }
  const std::vector<int32_t> ids = ids_of(tokens);
  require<FormatError>(ids.size() >= 2, path, "has one token, too few to predict one from another");
  require_known({ids}, tokenizer, path);
  Lanes lanes(backend);
  const int64_t context = stored.config().max_length;
  const auto judged = std::span(ids).first(std::min<size_t>(ids.size(), kTokensJudged));
  double sum = 0.0;
  for (const double nats : surprisals({stored.model(), backend, DType::f32}, lanes, judged, {context, context})) {
    sum += nats;
  }
  const double mean = sum / static_cast<double>(judged.size() - 1);
  const double uniform = std::log(static_cast<double>(stored.config().target_vocabulary));
  require<FormatError>(mean < uniform, path,
                       "the model predicts it no better than chance ({:.2f} nats for each token, a uniform guess has "
                       "{:.2f}): calibrate on text of the kind that it knows",
                       mean, uniform);
  std::vector<std::vector<int32_t>> windows;
  for (size_t begin = 0; begin < ids.size(); begin += static_cast<size_t>(context)) {
    const size_t end = std::min(ids.size(), begin + static_cast<size_t>(context));
    windows.emplace_back(ids.begin() + static_cast<int64_t>(begin), ids.begin() + static_cast<int64_t>(end));
  }
  return {chosen_of(windows, evenly_spaced(windows)), {}};
}

CalibrationTokens lines_of_text(const std::string& path, const StoredModel& stored) {
  const TextColumns columns = stored.columns().value_or(TextColumns::one);
  std::vector<std::vector<int32_t>> texts;
  int64_t number = 0;
  for (const std::string& line : first_lines(path)) {
    const std::string where = fmt::format("{}:{}", path, ++number);
    if (!is_blank(line)) {
      texts.push_back(
          encode_line(stored.text(), line, columns, stored.config().max_length, TooLong::truncate, where).ids);
    }
  }
  require_known(texts, stored.text(), path);
  return {chosen_of(texts, evenly_spaced(texts)), {}};
}

}  // namespace

CalibrationTokens calibration_tokens(const CalibrationFiles& files, const StoredModel& stored, Backend& backend) {
  const Architecture architecture = stored.config().architecture;
  if (architecture == Architecture::seq2seq) {
    return PairCalibration(files, stored, backend).take();
  }
  require<ConfigError>(files.target.empty(), files.target,
                       "translations serve to calibrate a translation model, but the model is {}",
                       describe(architecture));
  return architecture == Architecture::causal_lm ? windows_of_text(files.text, stored, backend)
                                                 : lines_of_text(files.text, stored);
}

}  // namespace heed
