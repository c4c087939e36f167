// Marian's files of weights: .npz, and .bin.
#pragma once

#include <filesystem>
#include <string>

#include "interchange/archive/tensor_archive.h"

namespace heed {

// Matrices have their inputs as rows, but those of integers their outputs: Marian turns these over when it quantizes.
// Tables of embeddings have a row for each token. Integers have the file's multiplier as divisor. "special:model.yml"
// is not among the tensors.
struct MarianFile {
  TensorArchive tensors;
  std::string settings;  // special:model.yml; empty: there is none
};

// FormatError for compressed or overlapping entries, for arrays in the order of Fortran, and for matrices that were
// arranged for one processor's instructions (intgemm8avx2 and others): those of intgemm8 can be read anywhere.
MarianFile open_marian_file(const std::filesystem::path& path);

}  // namespace heed
