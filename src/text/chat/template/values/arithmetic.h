// Python's arithmetic on values.
#pragma once

#include "text/chat/template/syntax/syntax.h"

namespace heed::chat {

// A refusal where the two values have no such operation, at a division by zero, and of whole numbers beyond 64 bits.
Value calculate(Run& run, Operator operation, const Value& left, const Value& right);
Value negative(Run& run, const Value& value);

}  // namespace heed::chat
