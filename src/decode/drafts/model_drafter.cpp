#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "decode/drafts/drafter.h"

namespace heed {
namespace {

// The drafter reads only this many tokens of a prompt, or of what was written in a pause, until its drafts have saved
// the time that reading all of them takes.
constexpr int64_t kLittleContext = 32;
// A smaller model takes less time than sharing its work out among threads.
constexpr int64_t kSmallModel = 2'000'000;  // multiplications of a token, about

int64_t multiplications(const ModelConfig& config, int64_t layers) {
  int64_t widths = 0;
  for (int64_t layer = 0; layer < layers; ++layer) {
    widths += 4 * config.model + 2 * config.inner.of(layer);
  }
  return config.model * (widths + config.target_vocabulary);
}

class ModelDrafter final : public Drafter {
 public:
  ModelDrafter(const DraftModel& model, Backend& backend) {
    const ModelConfig& config = model.model.config();
    const int64_t layers = model.layers == 0 ? config.decoder_layers : model.layers;
    if (backend.threads() > 1 && multiplications(config, layers) < kSmallModel) {
      lane_ = backend.make_lane();
    }
    stepper_ = make_stepper({model.model, lane_ == nullptr ? backend : *lane_, model.storage},
                            {.roll_back = kMaxDraftTokens, .layers = model.layers});
  }

  Work draft(std::span<const DraftTask> tasks, const DraftLengthPolicy& policy, std::span<Draft> drafts) override {
    Work work;
    going_.clear();
    begin_new_texts(tasks, policy);
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (is_wanted(tasks[i], policy) && catch_up(tasks[i], policy, work)) {
        going_.push_back({i,
                          &texts_.at(tasks[i].text),
                          1.0,
                          tasks[i].sampler.has_penalties() ? tasks[i].counts : TokenCounts{},
                          {},
                          {}});
        if (tasks[i].sampler.looks_at_text()) {
          going_.back().tokens.assign(tasks[i].tokens.begin(), tasks[i].tokens.end());
          going_.back().walk = tasks[i].walk;
        }
        ++work.texts;
        work.caught_up += static_cast<int64_t>(going_.back().text->unread.size());
      }
    }
    while (!going_.empty()) {
      step(tasks, policy, drafts);
      ++work.steps;
    }
    return work;
  }

  void forget(int64_t text) override {
    const auto found = texts_.find(text);
    if (found != texts_.end()) {
      if (found->second.sequence) {
        stepper_->remove(*found->second.sequence);
      }
      texts_.erase(found);
    }
  }

 private:
  struct Text {
    std::optional<SequenceId> sequence;  // none where the draft's encoder does not take the source
    size_t first = 0;                    // which of the text's tokens the sequence begins with
    std::vector<int32_t> read;           // what the sequence has read
    size_t agreed = 0;                   // how many of these are certainly the text's
    bool is_cut = false;                 // it has read only the text's end, to save time
    std::vector<int32_t> unread;
  };
  // A text of which more tokens are being drafted.
  struct Going {
    size_t task;
    Text* text;
    double chance;
    TokenCounts counts;           // where there are penalties
    std::vector<int32_t> tokens;  // the text and its draft, where rules look at them
    AutomatonWalk walk;           // of these
  };

  // A trial drafts for one text.
  bool is_wanted(const DraftTask& task, const DraftLengthPolicy& policy) const {
    return task.most > 0 && (going_.empty() || !policy.is_trial());
  }

  void begin_new_texts(std::span<const DraftTask> tasks, const DraftLengthPolicy& policy) {
    std::vector<std::vector<int32_t>> sources;
    std::vector<Text*> begun;
    for (const DraftTask& task : tasks) {
      if (task.most <= 0) {
        continue;
      }
      const auto [found, is_new] = texts_.try_emplace(task.text);
      const bool begins = is_new && static_cast<int64_t>(task.source.size()) <= stepper_->max_length();
      if (begins) {
        sources.emplace_back(task.source.begin(), task.source.end());
        begun.push_back(&found->second);
      }
      if (policy.is_trial() && (begins || found->second.sequence)) {
        break;
      }
    }
    const std::vector<SequenceId> sequences = stepper_->begin(sources);
    for (size_t i = 0; i < begun.size(); ++i) {
      begun[i]->sequence = sequences[i];
    }
  }

  // Finds what the draft's model has not read of the text, and drops drafted tokens that the text does not have. False
  // when the model takes no more tokens.
  bool catch_up(const DraftTask& task, const DraftLengthPolicy& policy, Work& work) {
    const auto begun = texts_.find(task.text);
    if (begun == texts_.end() || !begun->second.sequence) {
      return false;
    }
    Text& text = begun->second;
    const auto own = [&] { return task.tokens.subspan(text.first); };
    size_t same = text.agreed;
    while (same < text.read.size() && same < own().size() && text.read[same] == own()[same]) {
      ++same;
    }
    // The last token is read again if it has been read already, for the probabilities after it.
    same = std::min(same, own().size() - 1);
    if (static_cast<int64_t>(own().size()) + task.most > stepper_->max_length()) {
      if (!task.source.empty() || 2 * task.most > stepper_->max_length()) {
        return false;
      }
      begin_later(task, text, std::max<int64_t>(1, stepper_->max_length() / 2));
      same = 0;
    } else if (task.source.empty() && !policy.can_afford_reading(std::ssize(own()) - static_cast<int64_t>(same))) {
      begin_later(task, text, kLittleContext);
      text.is_cut = true;
      same = 0;
    } else if (text.is_cut && policy.can_afford_reading(std::ssize(task.tokens))) {
      begin_later(task, text, std::max<int64_t>(1, stepper_->max_length() / 2));
      same = 0;
    }
    if (same < text.read.size()) {
      stepper_->roll_back(*text.sequence, static_cast<int64_t>(same));
      text.read.resize(same);
    }
    text.agreed = same;
    text.unread.assign(own().begin() + static_cast<int64_t>(same), own().end());
    work.afforded += std::ssize(text.unread) > DraftLengthPolicy::kCheapToRead ? std::ssize(text.unread) : 0;
    return true;
  }

  // Begins again with the last tokens, as if nothing came before them.
  void begin_later(const DraftTask& task, Text& text, int64_t tokens) {
    const auto kept = std::min(task.tokens.size(), static_cast<size_t>(tokens));
    static const std::vector<std::vector<int32_t>> kNoSource(1);
    stepper_->remove(*text.sequence);
    text = {
        .sequence = stepper_->begin(kNoSource).front(), .first = task.tokens.size() - kept, .read = {}, .unread = {}};
  }

  // One more token of each text.
  void step(std::span<const DraftTask> tasks, const DraftLengthPolicy& policy, std::span<Draft> drafts) {
    new_tokens_.clear();
    for (const Going& going : going_) {
      new_tokens_.push_back({*going.text->sequence, going.text->unread});
    }
    const NextTokens next = stepper_->next(new_tokens_);
    for (size_t row = 0; row < going_.size(); ++row) {
      Text& text = *going_[row].text;
      text.read.insert(text.read.end(), text.unread.begin(), text.unread.end());
      text.unread.clear();
    }
    size_t still = 0;
    for (size_t row = 0; row < going_.size(); ++row) {
      const DraftTask& task = tasks[going_[row].task];
      if (propose(task, policy, next, static_cast<int64_t>(row), going_[row], drafts[going_[row].task])) {
        if (still != row) {
          going_[still] = std::move(going_[row]);
        }
        ++still;
      }
    }
    going_.erase(going_.begin() + static_cast<int64_t>(still), going_.end());
  }

  // Whether to go on with the text.
  bool propose(const DraftTask& task, const DraftLengthPolicy& policy, const NextTokens& next, int64_t row,
               Going& going, Draft& draft) {
    const std::span logits(next.logits.row(row), static_cast<size_t>(next.logits.columns));
    const Draw draw{task.draw.key, task.draw.position + draft.tokens.size()};
    const int32_t token =
        task.sampler.sample(logits, going.counts, draw, sampling_memory_, {going.tokens, &going.walk});
    const double confidence = std::exp(static_cast<double>(next.log_probs(row, token)));
    going.chance *= policy.chance(Guess::by_model, confidence);
    if (!policy.worth_checking(going.chance)) {
      return false;
    }
    draft.guess = Guess::by_model;
    draft.tokens.push_back(token);
    draft.confidence.push_back(confidence);
    going.text->unread.push_back(token);
    if (task.sampler.has_penalties()) {
      going.counts.add_written(token);
    }
    if (task.sampler.looks_at_text()) {
      going.tokens.push_back(token);
    }
    return static_cast<int64_t>(draft.tokens.size()) < task.most && policy.worth_another(going.chance);
  }

  SamplingMemory sampling_memory_;
  std::unique_ptr<Backend> lane_;
  std::unique_ptr<Stepper> stepper_;
  std::unordered_map<int64_t, Text> texts_;
  std::vector<Going> going_;
  std::vector<NewTokens> new_tokens_;
};

}  // namespace

double share_of_step(const ModelConfig& config, int64_t layers) {
  return static_cast<double>(multiplications(config, layers)) /
         static_cast<double>(multiplications(config, config.decoder_layers));
}

std::unique_ptr<Drafter> make_model_drafter(const DraftModel& model, Backend& backend) {
  return std::make_unique<ModelDrafter>(model, backend);
}

}  // namespace heed
