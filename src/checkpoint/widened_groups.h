// Matrices of bytes in groups, as a file row by row holds them, read as floats: for what is not only run.
#pragma once

#include <memory>

#include "tensor_files/tensor_file.h"

namespace heed {

// The file itself where it has no such matrices. Otherwise they are in f16, as blocks of other programs' files become;
// FormatError for a damaged file, and later for values beyond f16.
std::shared_ptr<const TensorFile> with_widened_groups(std::shared_ptr<const TensorFile> file);

}  // namespace heed
