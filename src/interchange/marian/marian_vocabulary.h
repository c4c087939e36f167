// Marian's vocabularies that are not SentencePiece models.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

// The tokens by their numbers: of a .yml or .yaml, which gives each token's number ("TOKEN": 17), of a .json, which does
// likewise, or of other texts, which have a token on each line. FormatError, with the line, for one of another form, for
// numbers that are not those from 0 up, and for a token that occurs twice.
std::vector<std::string> read_marian_vocabulary(const std::filesystem::path& path);
// The same for a file's text, of which only the name's ending counts.
std::vector<std::string> parse_marian_vocabulary(std::string_view text, const std::filesystem::path& path);

}  // namespace heed
