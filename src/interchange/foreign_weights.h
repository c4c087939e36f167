// Another program's tensors as the weights of a model, by heed's names.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "interchange/archive/tensor_archive.h"
#include "interchange/foreign_layout.h"
#include "interchange/naming.h"
#include "models/config.h"
#include "tensor_files/tensor_file.h"

namespace heed {

// What q8_0 and q4_0 become: matrices of their integers with their scales, as they are; or floats in f16, as other
// blocks do.
enum class BlocksAs : uint8_t { stored, floats };

// Rows are converted when they are asked for; those that the archive holds as they are stay where they are mapped.
// Matrices keep the type of a float; blocks become f16, or stay what they are, and all else f32.
class ForeignWeights final : public TensorFile {
 public:
  // FormatError, naming tensor and file: for one that is missing or has another shape than the model, for a copy that
  // differs, and for one that is neither a weight's nor listed as without.
  ForeignWeights(std::shared_ptr<const TensorArchive> archive, const ForeignNames& names, const ModelConfig& config,
                 BlocksAs blocks = BlocksAs::stored);

  std::span<const std::byte> rows(const StoredTensor& tensor, RowSpan rows,
                                  std::vector<std::byte>& buffer) const override;
  // The archive's tensors that a weight is made of.
  std::vector<std::string> sources_of(std::string_view weight) const;
  void give_back(std::span<const std::byte> bytes) const override { archive_->give_back(bytes); }

  // What became of matrices in blocks of one type.
  struct Conversion {
    ForeignType from;
    StoredType to;
    int64_t tensors = 0;
    double relative_error = 0.0;  // of all values, by the root of their squares
  };
  // Reads them all.
  std::vector<Conversion> conversions() const;

 private:
  enum class BlockField : uint8_t { all, integers, scales };
  // Some rows of a weight, and where the archive has them.
  struct Piece {
    const ArchiveTensor* tensor;
    ForeignForm form;
    int64_t first, count;  // of the weight's rows
    int64_t row;           // the first one, among those of the tensor's roles
    int64_t all_rows;      // of the tensor's roles
    int64_t skipped_rows;
    BlockField part = BlockField::all;  // that the weight's tensor has
  };

  // For rows that the tensor lacks.
  const ArchiveTensor& zeros_beside(const ArchiveTensor& tensor, const NamedTensor& named);
  // Which row of the tensor has row `row` of those of its roles.
  int64_t row_in(const Piece& piece, int64_t row) const;
  bool is_as_stored(const std::vector<Piece>& pieces, const StoredTensor& tensor) const;
  StoredType type_for(const Weight& weight, const std::vector<Piece>& pieces) const;
  void read_rows(const Piece& piece, const StoredTensor& tensor, RowSpan rows, std::byte* to) const;
  void read_block_part(const Piece& piece, RowSpan rows, std::byte* to) const;
  void read_converted(const Piece& piece, const StoredTensor& tensor, RowSpan rows, std::byte* to) const;
  void read_transposed(const Piece& piece, const StoredTensor& tensor, RowSpan rows, std::byte* to) const;
  void add_weight(const Weight& weight, std::vector<Piece> pieces);

  std::shared_ptr<const TensorArchive> archive_;
  std::deque<std::vector<std::byte>> zero_bytes_;
  std::deque<ArchiveTensor> zeros_;
  double embedding_scale_;
  BlocksAs blocks_;
  ForeignLayout layout_;
  std::map<std::string, std::vector<Piece>, std::less<>> pieces_;  // by heed's names
};

}  // namespace heed
