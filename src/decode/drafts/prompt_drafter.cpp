#include <algorithm>
#include <unordered_map>
#include <utility>

#include "decode/drafts/drafter.h"

namespace heed {
namespace {

constexpr size_t kShortestMatch = 3, kLongestMatch = 128;  // tokens
constexpr int kCandidates = 16;                            // that are compared, the latest first

// All tokens of a text so far, with the positions of each sequence of kShortestMatch tokens.
class Index {
 public:
  void add(int32_t token) {
    tokens_.push_back(token);
    previous_.push_back(-1);
    if (tokens_.size() >= kShortestMatch) {
      const auto [latest, is_new] = latest_.try_emplace(key_of_end(), -1);
      previous_.back() = std::exchange(latest->second, static_cast<int64_t>(tokens_.size()) - 1);
    }
  }
  size_t size() const { return tokens_.size(); }

  // The position after the longest match of the text's end; the latest of several.
  struct Match {
    size_t next = 0, length = 0;
  };
  Match match() const {
    Match best;
    int64_t position = tokens_.empty() ? -1 : previous_.back();
    for (int tried = 0; position >= 0 && tried < kCandidates;
         ++tried, position = previous_[static_cast<size_t>(position)]) {
      const size_t length = common_end(static_cast<size_t>(position) + 1);
      if (length > best.length) {
        best = {static_cast<size_t>(position) + 1, length};
      }
    }
    return best.length >= kShortestMatch ? best : Match{};
  }
  int32_t operator[](size_t position) const { return tokens_[position]; }

 private:
  uint64_t key_of_end() const {
    uint64_t key = 0;
    for (size_t i = tokens_.size() - kShortestMatch; i < tokens_.size(); ++i) {
      key = mix_bits(key + static_cast<uint64_t>(static_cast<uint32_t>(tokens_[i])) + 1);
    }
    return key;
  }
  size_t common_end(size_t other) const {
    const size_t most = std::min(other, kLongestMatch);
    size_t length = 0;
    while (length < most && tokens_[other - 1 - length] == tokens_[tokens_.size() - 1 - length]) {
      ++length;
    }
    return length;
  }

  std::vector<int32_t> tokens_;
  std::vector<int64_t> previous_;  // the latest earlier position with the same last tokens; -1: none
  std::unordered_map<uint64_t, int64_t> latest_;
};

constexpr double kSure = 0.9;

class CombinedDrafter final : public Drafter {
 public:
  CombinedDrafter(std::unique_ptr<Drafter> if_sure, std::unique_ptr<Drafter> otherwise)
      : if_sure_(std::move(if_sure)), otherwise_(std::move(otherwise)) {}

  Work draft(std::span<const DraftTask> tasks, const DraftLengthPolicy& policy, std::span<Draft> drafts) override {
    Work work = if_sure_->draft(tasks, policy, drafts);
    left_.clear();
    numbers_.clear();
    for (size_t i = 0; i < tasks.size(); ++i) {
      const bool is_sure =
          !drafts[i].tokens.empty() && policy.chance(drafts[i].guess, drafts[i].confidence.front()) >= kSure;
      if (!is_sure) {
        drafts[i].clear();
        left_.push_back(tasks[i]);
        numbers_.push_back(i);
      }
    }
    if (left_.empty()) {
      return work;
    }
    others_.resize(left_.size());
    std::ranges::for_each(others_, &Draft::clear);
    const Work of_others = otherwise_->draft(left_, policy, others_);
    for (size_t i = 0; i < left_.size(); ++i) {
      std::swap(drafts[numbers_[i]], others_[i]);
    }
    return of_others.steps > 0 ? of_others : work;
  }
  void forget(int64_t text) override {
    if_sure_->forget(text);
    otherwise_->forget(text);
  }

 private:
  std::unique_ptr<Drafter> if_sure_, otherwise_;
  std::vector<DraftTask> left_;
  std::vector<size_t> numbers_;
  std::vector<Draft> others_;
};

class PromptDrafter final : public Drafter {
 public:
  explicit PromptDrafter(SourceVocabulary source) : source_(source) {}

  Work draft(std::span<const DraftTask> tasks, const DraftLengthPolicy& policy, std::span<Draft> drafts) override {
    Work work;
    for (size_t i = 0; i < tasks.size(); ++i) {
      look_up(tasks[i], policy, drafts[i]);
      work.steps = std::max<int64_t>(work.steps, drafts[i].tokens.empty() ? 0 : 1);
      work.texts += drafts[i].tokens.empty() ? 0 : 1;
    }
    return work;
  }
  void forget(int64_t text) override { texts_.erase(text); }

 private:
  struct Text {
    Index index;
    size_t source = 0;  // tokens of it in the index
  };

  void look_up(const DraftTask& task, const DraftLengthPolicy& policy, Draft& draft) {
    const auto [found, is_new] = texts_.try_emplace(task.text);
    Index& index = found->second.index;
    size_t& source = found->second.source;
    if (is_new && source_ == SourceVocabulary::same) {
      source = task.source.size();
      std::ranges::for_each(task.source, [&index](int32_t token) { index.add(token); });
    }
    while (index.size() < source + task.tokens.size()) {
      index.add(task.tokens[index.size() - source]);
    }
    const Index::Match match = index.match();
    if (match.length == 0) {
      return;
    }
    const double confidence = 1.0 - 1.0 / (1.0 + static_cast<double>(match.length));
    double chance = 1.0;
    draft.guess = Guess::from_text;
    for (size_t k = 0; k < static_cast<size_t>(task.most); ++k) {
      chance *= policy.chance(Guess::from_text, confidence);
      if (!policy.worth_checking(chance)) {
        return;
      }
      // Where the match ends at the text's end, the draft goes on with itself: the text repeats.
      const size_t position = match.next + k;
      draft.tokens.push_back(position < index.size() ? index[position] : draft.tokens[position - index.size()]);
      draft.confidence.push_back(confidence);
    }
  }

  SourceVocabulary source_;
  std::unordered_map<int64_t, Text> texts_;
};

}  // namespace

std::unique_ptr<Drafter> make_combined_drafter(std::unique_ptr<Drafter> if_sure, std::unique_ptr<Drafter> otherwise) {
  return std::make_unique<CombinedDrafter>(std::move(if_sure), std::move(otherwise));
}

std::unique_ptr<Drafter> make_prompt_drafter(SourceVocabulary source) {
  return std::make_unique<PromptDrafter>(source);
}

}  // namespace heed
