// A model of heed's that is written in another program's format.
#pragma once

#include <optional>
#include <string>

#include "heed/types/interruption.h"
#include "models/config.h"
#include "tensor_files/tensor_file.h"
#include "text/decoding_defaults.h"
#include "text/lines/documents.h"
#include "text/model_marks.h"
#include "text/text_prompts.h"
#include "text/translation_tokenizers.h"

namespace heed {

struct ExportedModel {
  std::string name;   // for people
  std::string where;  // for messages
  const ModelConfig& config;
  const Tokenizers& tokenizers;
  Documents documents = Documents::none;  // of a language model
  ModelMarks marks = {};
  DecodingDefaults decoding = {};
  TextPrompts prompts = {};
  std::optional<std::string> chat_template = {};
  const TensorFile& weights;             // checked, and floats
  const TensorFile* integers = nullptr;  // the same with q8_0's blocks as they are; null: there are none
  Interruption interruption = {};
};

}  // namespace heed
