// What a chat template may use up. Templates come with models, from anyone: a program that loops, doubles strings or
// calls itself must end in an error. The limits are far above what published templates need.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed::chat {

inline constexpr size_t kMaxTemplateBytes = size_t{1} << 18;  // of the template's own text
inline constexpr int kMaxNesting = 120;                       // of expressions and statements in a template
inline constexpr int kMaxTreeDepth = 250;                     // of an expression, chains of operators included
inline constexpr uint64_t kMaxSteps = 5'000'000;              // parts of the template evaluated, and work by size
inline constexpr size_t kMaxMadeBytes = size_t{256} << 20;    // of all values that a rendering makes, kept or not
inline constexpr size_t kMaxOutputBytes = size_t{64} << 20;   // of the text
inline constexpr int kMaxDepth = 500;                         // of evaluation: expressions, statements and macros
inline constexpr int kMaxValueDepth = 100;                    // of lists and dicts inside each other
inline constexpr int64_t kMaxRange = 100'000;                 // numbers of one range()

}  // namespace heed::chat
