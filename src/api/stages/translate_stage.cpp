#include "api/stages/translate_stage.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/system/files.h"
#include "heed/lines.h"
#include "heed/ranks.h"
#include "heed/translator.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLinesAtOnce = 1000;   // translated together: enough to batch them by length
constexpr int64_t kLinesOfFile = 2000;  // of the text; what a stopped process loses at most

// The lines of one of several chunks, and what they become: a source and a target for each translation.
struct LinesToTranslate {
  int64_t first = 0;
  std::vector<std::string> lines;

  static constexpr auto members() { return std::tuple(&LinesToTranslate::first, &LinesToTranslate::lines); }
};

struct TranslatedPairs {
  int64_t lines = 0;
  std::string source, target;

  static constexpr auto members() {
    return std::tuple(&TranslatedPairs::lines, &TranslatedPairs::source, &TranslatedPairs::target);
  }
};

// The translated lines in pairs of files, a source and a target, and those that no file has yet. A pair is complete when
// its target is there, which is written last.
class TranslatedFiles {
 public:
  explicit TranslatedFiles(fs::path folder) : folder_(std::move(folder)) {
    while (fs::exists(file("target", complete_))) {
      ++complete_;
    }
  }

  int64_t lines() const { return complete_ * kLinesOfFile; }

  void add(const TranslatedPairs& pairs) {
    lines_ += pairs.lines;
    source_ += pairs.source;
    target_ += pairs.target;
    if (lines_ == kLinesOfFile) {
      write();
    }
  }

  // Joins the files of each side into one. They stay until the stage is marked as finished.
  void join(const fs::path& stage) {
    if (lines_ > 0) {
      write();
    }
    for (const std::string side : {"source", "target"}) {
      AtomicFile whole(stage / side);
      for (int64_t number = 0; number < complete_; ++number) {
        whole.write(read_file(file(side, number)));
      }
      whole.commit();
    }
  }

 private:
  fs::path file(const std::string& side, int64_t number) const {
    return folder_ / fmt::format("{}-{:06}", side, number);
  }

  void write() {
    fs::create_directories(folder_);
    write_file(file("source", complete_), source_);
    write_file(file("target", complete_), target_);
    ++complete_;
    lines_ = 0;
    source_.clear();
    target_.clear();
  }

  fs::path folder_;
  int64_t complete_ = 0;  // pairs of files
  int64_t lines_ = 0;     // that no file has yet
  std::string source_, target_;
};

// The text in chunks, none of which is in two files.
class ChunksOfText {
 public:
  ChunksOfText(const std::string& file, int64_t skipped) : reader_(file) {
    for (std::vector<std::string> lines; next_ < skipped && !(lines = take(skipped - next_)).empty();) {
    }
  }

  std::optional<LinesToTranslate> next() {
    const int64_t first = next_;
    std::vector<std::string> lines = take(kLinesOfFile - next_ % kLinesOfFile);
    return lines.empty() ? std::nullopt : std::optional(LinesToTranslate{first, std::move(lines)});
  }

 private:
  std::vector<std::string> take(int64_t most) {
    std::vector<std::string> lines = reader_.next(std::min(lines_at_once(kLinesAtOnce), static_cast<size_t>(most)));
    next_ += std::ssize(lines);
    return lines;
  }

  AvailableLines reader_;
  int64_t next_ = 0;
};

TranslatedPairs translated(const Translator& translator, const TranslateStage& stage, const LinesToTranslate& chunk) {
  // A line that does not fit is left out: its translation is empty, and no training keeps such a pair.
  std::vector<std::string> lines = chunk.lines;
  for (std::string& line : lines) {
    if (std::ssize(translator.source_pieces(line)) > translator.max_length()) {
      line.clear();
    }
  }
  const auto name = [&](size_t line) {
    return fmt::format("{}:{}", stage.input, chunk.first + static_cast<int64_t>(line) + 1);
  };
  TranslatedPairs pairs{.lines = std::ssize(lines), .source = {}, .target = {}};
  size_t number = 0;
  for (const std::vector<Translation>& found : translator.translate(lines, stage.options, name)) {
    for (const Translation& one : found) {
      pairs.source += chunk.lines[number] + "\n";
      pairs.target += one.text + "\n";
    }
    ++number;
  }
  return pairs;
}

// What the first rank decides.
bool agreed(const Ranks& ranks, bool own) { return ranks.broadcast_text(own ? "yes" : "no") == "yes"; }

}  // namespace

fs::path parts_of(const StagesFolder& folder, const RecipeStage& stage) { return folder.of(stage.name) / "parts"; }

StageEnd run_translate_stage(const RecipeStage& stage, const StagesFolder& folder, const TrainOptions& options,
                             const TrainingMeans& means) {
  const std::string model = stage.from.empty() ? stage.model : folder.of(stage.from).string();
  const Translator translator(
      model, {.precision = stage.translate.precision, .threads = options.threads, .device = options.device});
  translator.translate({}, stage.translate.options);  // refuses options that make no sense
  TranslatedFiles files(parts_of(folder, stage));
  std::optional<ChunksOfText> text;
  bool stopped = false;
  means.listener.on_start();  // from here on there is something to keep
  share_work(SharedWork<LinesToTranslate, TranslatedPairs>{
      .next = [&]() -> std::optional<LinesToTranslate> {
        if (!text) {
          text.emplace(stage.translate.input, files.lines());
        }
        stopped = stopped || means.listener.wants_to_stop();
        return stopped ? std::nullopt : text->next();
      },
      .work = [&](const LinesToTranslate& chunk) { return translated(translator, stage.translate, chunk); },
      .take = [&](const TranslatedPairs& pairs) { files.add(pairs); }});
  if (agreed(means.ranks, stopped)) {
    return StageEnd::stopped;
  }
  if (means.ranks.is_first()) {
    files.join(folder.of(stage.name));
  }
  return StageEnd::finished;
}

}  // namespace heed
