// Models of other programs: which one a path holds follows from its files, never from its name.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "interchange/foreign_model.h"
#include "interchange/foreign_weights.h"
#include "text/translation_tokenizers.h"

namespace heed {

bool is_foreign_model(const std::filesystem::path& path);

// FormatError or IoError for a file that is missing or wrong, and for what the model needs and heed lacks.
ForeignModel read_foreign_model(const std::filesystem::path& path);
Tokenizers read_foreign_tokenizers(const std::filesystem::path& path, const ForeignModel& model);
// What of the model's files and of its tokenizers' is passed over, each a sentence.
std::vector<std::string> foreign_notes(const ForeignModel& model, const Tokenizers& tokenizers);
// By heed's names; the files stay mapped as long as it lives.
std::shared_ptr<const ForeignWeights> open_foreign_weights(const ForeignModel& model,
                                                           BlocksAs blocks = BlocksAs::stored);

}  // namespace heed
