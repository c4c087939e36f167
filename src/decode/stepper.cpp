#include "decode/stepper.h"

#include "decode/decoder_only_stepper.h"
#include "decode/encoder_decoder_stepper.h"

namespace heed {

void require_cache_type(const Inference& inference) {
  const bool as_computed = inference.cache_type() == inference.storage;
  require<ConfigError>(as_computed || inference.model.config().linear_layers_of_decoder().empty(), "cache",
                       "the model has linear attention, whose cache is always in the run's precision");
}

void Stepper::restrict_to(std::span<const Candidates> /*candidates*/) {
  fail<InternalError>("stepper", "this model's sequences cannot have candidates");
}

std::unique_ptr<Stepper> make_stepper(const Inference& inference, const StepperOptions& options) {
  switch (inference.model.config().architecture) {
    case Architecture::seq2seq:
      return std::make_unique<EncoderDecoderStepper>(inference, options);
    case Architecture::causal_lm:
      return std::make_unique<DecoderOnlyStepper>(inference, options);
    case Architecture::encoder:
      break;
  }
  fail<ConfigError>("model", "is {}, which does not continue sequences",
                    in_words(inference.model.config().architecture));
}

}  // namespace heed
