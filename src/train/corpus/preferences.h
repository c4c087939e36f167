// Pairs of answers, of which one was preferred.
#pragma once

#include <string>
#include <vector>

#include "train/corpus/conversations.h"

namespace heed {

// Each pair has a conversation with the one answer and one with the other. Tokens up to the first in which they differ are
// only read: both answers would get the same from them.
struct Preferences {
  Conversations chosen, rejected;  // as many of the one as of the other

  int64_t size() const { return std::ssize(chosen.all); }
  // What the pair with this number reads.
  int64_t rows(int64_t pair) const {
    const auto i = static_cast<size_t>(pair);
    return std::ssize(chosen.all[i].ids) + std::ssize(rejected.all[i].ids);
  }
  std::string text() const;  // how many, in one line
};

// Reads files with a JSON object in each line: {"prompt": "...", "chosen": "...", "rejected": "..."}; blank lines are
// skipped. A prompt that is a text is what the user says; a list of messages is a conversation. An answer is a text, or a
// list of messages of which the first and the last are the assistant's. FormatError, naming file and line, for anything
// else, and for answers that are the same. Pairs that are too long are dropped or refused.
Preferences read_preferences(const std::vector<std::string>& files, const ChatReading& reading);

}  // namespace heed
