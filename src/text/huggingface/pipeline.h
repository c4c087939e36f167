// The parts of a tokenizer.json in their order.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "text/huggingface/added_tokens.h"
#include "text/huggingface/decoders/decoder.h"
#include "text/huggingface/encoding.h"
#include "text/huggingface/models/model.h"
#include "text/huggingface/normalizers/normalizer.h"
#include "text/huggingface/post_processors/post_processor.h"
#include "text/huggingface/pre_tokenizers/pre_tokenizer.h"

namespace heed::huggingface {

class Pipeline {
 public:
  // FormatError names the key.
  explicit Pipeline(const JsonValue& json);

  // One text, which is UTF-8, or two.
  Encoding encode(std::vector<std::string_view> texts, const EncodeOptions& options) const;
  std::vector<TokenId> encode_ids(std::string_view text, const SpecialRule& special) const;
  // Skips special tokens and ids without a token.
  std::string decode(std::span<const TokenId> tokens) const;

  const TokenModel& model() const { return *model_; }
  const AddedTokens& added() const { return added_; }
  const Decoder* decoder() const { return decoder_.get(); }
  const std::vector<std::string>& notes() const { return notes_; }
  int32_t size() const { return static_cast<int32_t>(texts_.size()); }  // the largest id and 1
  // How a token is spelled where it is decoded; null for ids without a token.
  const std::string* text(int32_t id) const;
  bool is_special(int32_t id) const;
  std::vector<FrameSlot> frame(size_t texts) const;

 private:
  // What one thread needs while it encodes.
  struct Workspace {
    Pieces pieces;
    std::vector<AddedMatch> parts, inner_parts;
    std::vector<ModelToken> tokens;
    std::unique_ptr<ModelState> state;
  };

  // A workspace that no other thread has.
  class Lease {
   public:
    explicit Lease(const Pipeline& pipeline);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Workspace& operator*() const { return *workspace_; }

   private:
    const Pipeline& pipeline_;
    std::unique_ptr<Workspace> workspace_;
  };

  void read_texts(const JsonValue& json);
  void cut(std::string_view text, const SpecialRule& special, Tracking tracking, Workspace& work) const;
  void cut_part(std::string_view text, const AddedMatch& part, const SpecialRule& special, Tracking tracking,
                Workspace& work) const;
  EncodedSlot encode_slot(std::string_view text, const EncodeOptions& options, bool texts) const;
  void append_piece(const Piece& piece, SpecialText special, bool texts, Workspace& work, EncodedSlot& slot) const;
  std::string spelled(const ModelToken& token, std::string_view piece) const;

  std::vector<std::string> notes_;
  TokenModelPtr model_;
  NormalizerPtr normalizer_;
  AddedTokens added_;
  PreTokenizerPtr pre_tokenizer_;
  PostProcessorPtr post_processor_;
  DecoderPtr decoder_;
  std::vector<std::string> texts_;
  std::vector<bool> known_, special_;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> workspaces_;
};

}  // namespace heed::huggingface
