#include "decode/steppers/stepper.h"

#include <utility>

#include "decode/steppers/decoder_only_stepper.h"
#include "decode/steppers/encoder_decoder_stepper.h"
#include "decode/steppers/ensemble_stepper.h"

namespace heed {

namespace {

std::unique_ptr<Stepper> make_stepper_of_one(const Inference& inference, const StepperOptions& options) {
  switch (inference.model.config().architecture) {
    case Architecture::seq2seq:
      return std::make_unique<EncoderDecoderStepper>(inference, options);
    case Architecture::causal_lm:
      return std::make_unique<DecoderOnlyStepper>(inference, options);
    case Architecture::encoder:
      break;
  }
  fail<ConfigError>("model", "is {}, which does not continue sequences",
                    describe(inference.model.config().architecture));
}

}  // namespace

void require_cache_type(const Inference& inference) {
  const bool as_computed = inference.cache_type() == inference.storage;
  for (const Inference& member : inference.members()) {
    require<ConfigError>(as_computed || member.model.config().linear_layers_of_decoder().empty(), "cache",
                         "the model has linear attention, whose cache is always in the run's precision");
    require<ConfigError>(as_computed || !member.model.config().is_recurrent(), "cache",
                         "the model's decoder is recurrent, and its cells are always in the run's precision");
  }
}

void Stepper::restrict_to(std::span<const Candidates> /*candidates*/) {
  fail<InternalError>("stepper", "this model's sequences cannot have candidates");
}

std::unique_ptr<Stepper> make_stepper(const Inference& inference, const StepperOptions& options) {
  if (inference.others.empty()) {
    return make_stepper_of_one(inference, options);
  }
  std::vector<std::unique_ptr<Stepper>> members;
  for (const Inference& member : inference.members()) {
    members.push_back(make_stepper_of_one(member, options));
  }
  return std::make_unique<EnsembleStepper>(std::move(members), inference.backend);
}

}  // namespace heed
