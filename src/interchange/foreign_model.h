// What a reader finds in another program's model, in heed's terms.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interchange/archive/tensor_archive.h"
#include "interchange/naming.h"
#include "models/config.h"
#include "text/decoding_defaults.h"
#include "text/lines/documents.h"
#include "text/model_marks.h"
#include "text/text_prompts.h"

namespace heed {

// Where a value came from: "hidden_size" of config.json is 768.
struct SettingOrigin {
  std::string file, key, value;
  bool is_default = false;  // the file does not say it
};

struct ForeignModel {
  std::string type;    // as its files name the family: "llama"
  std::string family;  // for people: "Llama"
  ModelConfig config;
  ForeignNames names;
  std::shared_ptr<const TensorArchive> archive;
  std::optional<Documents> documents = {};  // of a decoder; see ModelDescription
  ModelMarks marks = {};
  TextPrompts prompts = {};
  DecodingDefaults decoding = {};
  std::vector<SettingOrigin> origins;
  std::vector<std::string> unread;  // keys that say nothing that heed knows

  std::vector<std::string> notes() const;  // what was passed over, each a sentence
};

}  // namespace heed
