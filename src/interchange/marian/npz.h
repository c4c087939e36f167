// Arrays of NumPy: .npy, and many of them in a .npz.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "interchange/archive/tensor_archive.h"

namespace heed {

// An array by its file's bytes. FormatError for elements that are big-endian or not numbers, and for the order of
// Fortran where it differs.
ArchiveTensor read_npy(std::string name, std::span<const std::byte> bytes, size_t file, const std::string& where);

// Adds the arrays of a ZIP file, each by its name without ".npy".
void add_npz(std::span<const std::byte> bytes, size_t file, const std::string& where, TensorArchive& to);

}  // namespace heed
