// What texts give, as soon as it is there.
#pragma once

#include <cstddef>
#include <functional>

namespace heed {

// Is told of each text's result by the text's number: in any order, one at a time, on any thread. It should return soon,
// and must not call the model; what it throws ends the call.
template <class Result>
using OnResult = std::function<void(size_t text, const Result& result)>;

}  // namespace heed
