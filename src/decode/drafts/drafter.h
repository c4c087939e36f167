// Drafters guess how texts go on. The model checks each guess: a wrong one costs time and changes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "decode/drafts/draft_length_policy.h"
#include "decode/sampling/sampling.h"
#include "decode/steppers/stepper.h"
#include "heed/types/writing/drafting.h"

namespace heed {

// A text whose next tokens are wanted.
struct DraftTask {
  int64_t text;                     // the caller's number for it, which is used once
  std::span<const int32_t> source;  // that an encoder reads; empty without one
  std::span<const int32_t> tokens;  // the prompt and what was written: at least one
  const TokenCounts& counts;        // of these
  const Sampler& sampler;           // of the text
  Draw draw;                        // of the next token
  int64_t most;                     // tokens wanted at most
  AutomatonWalk walk = {};          // of the text, or new
};

struct Draft {
  Guess guess = Guess::by_model;
  std::vector<int32_t> tokens;
  std::vector<double> confidence;  // in each of them, 0 to 1

  void clear() {
    tokens.clear();
    confidence.clear();
  }
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  Drafter() = default;
  Drafter(const Drafter&) = delete;
  Drafter& operator=(const Drafter&) = delete;

  struct Work {
    int64_t steps = 0;      // one after the other
    int64_t texts = 0;      // that were read
    int64_t caught_up = 0;  // tokens of theirs that were read before anything was drafted
    int64_t afforded = 0;   // of these, those of texts with more than DraftLengthPolicy::kCheapToRead
  };

  // Adds to each task's draft, which is empty, as many tokens as the policy finds worth it.
  virtual Work draft(std::span<const DraftTask> tasks, const DraftLengthPolicy& policy, std::span<Draft> drafts) = 0;
  // The text has ended.
  virtual void forget(int64_t text) = 0;
};

// Whether a source is in the vocabulary of the texts that are written.
enum class SourceVocabulary : uint8_t { same, other };

// Looks up the last tokens of a text in what comes before them, the source included if it is in the same vocabulary,
// and drafts what followed there. The longer the match, the more confident.
std::unique_ptr<Drafter> make_prompt_drafter(SourceVocabulary source);

// Takes the draft of the first where that is nearly sure, and otherwise that of the second.
std::unique_ptr<Drafter> make_combined_drafter(std::unique_ptr<Drafter> if_sure, std::unique_ptr<Drafter> otherwise);

struct DraftModel {
  const AnyModel& model;
  DType storage;
  int64_t layers = 0;  // the first ones, which draft; 0: all
};

// Drafts with a model, token by token for all texts together: with the same random numbers and samplers as the model
// whose texts it drafts.
std::unique_ptr<Drafter> make_model_drafter(const DraftModel& model, Backend& backend);
// An estimate, by the number of multiplications: the time of a step of a model's first layers over that of all of them.
double share_of_step(const ModelConfig& config, int64_t layers);

}  // namespace heed
