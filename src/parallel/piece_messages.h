// What ranks do with pieces of weights that other ranks own, or send to their owners.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "nn/weights/trainables.h"
#include "optim/piece_owners.h"
#include "ranks/ranks.h"

namespace heed {

// How many messages with pieces a rank expects from each of `ranks` at a time: few enough in all, and enough of each to
// keep a link busy whose queues hold a tenth of a second.
size_t open_pieces(int ranks);

// Adds pieces as they came, in the type in which they travelled, to sums in the master type.
class PieceSums {
 public:
  explicit PieceSums(Backend& backend) : backend_(backend) {}

  // sum = parts[0] + parts[1] + ..., in this order.
  void set(View sum, std::span<const ConstView> parts);
  // sum = ((sum + parts[0]) + parts[1]) + ...
  void add(View sum, std::span<const ConstView> parts);

 private:
  View widened(ConstView part, View sum);

  Backend& backend_;
  Tensor wide_;  // of a part in another type than the sum's
};

std::vector<int> all_of(const Ranks& ranks);

struct ComingPiece {
  size_t piece = 0;
  Transfer transfer;
};

// Pieces on their way from their owners. `sent` are the messages with own pieces.
struct SharedPieces {
  std::vector<ComingPiece> coming;
  std::vector<Transfer> sent;
};

// Each piece goes from its owner to all other `receivers`. Pieces whose memory is empty are left out.
SharedPieces begin_to_share(const Ranks& ranks, const PieceOwners& owners, std::span<const int> receivers,
                            const std::function<std::span<std::byte>(size_t piece)>& memory);

// The following do nothing where this rank owns all pieces.

// Fills in the norms of the other ranks' pieces, of which their owners have computed them.
void share_norms(const Ranks& ranks, const PieceOwners& owners, View squared_norms);
// Sends the values of the trained weights that this rank owns to `receivers`, and takes those that others own, of the
// weights that are held here.
void share_weights(const Ranks& ranks, const PieceOwners& owners, std::span<const int> receivers,
                   const Trainables& trainables);
// Brings memory that is laid out like the masters from the pieces' owners to the first rank.
void collect_pieces(const Ranks& ranks, const PieceOwners& owners, View flat);

}  // namespace heed
