// The tokenizer in a GGUF file's metadata, under tokenizer.ggml.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interchange/foreign_model.h"
#include "interchange/gguf/gguf_metadata.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/sentencepiece/sentencepiece_model.h"

namespace heed {

// Kinds "llama" (SentencePiece's byte-pair encoding, by scores) and "gpt2" (merges of bytes, of pieces that the
// expressions named by tokenizer.ggml.pre cut). FormatError, naming file and key, for other kinds and names, and for
// lists that do not belong together.
class GgufVocabulary {
 public:
  // The metadata must live longer.
  explicit GgufVocabulary(const GgufMetadata& metadata);

  // `rows`: of the model's table. Texts give llama.cpp's tokens, except that no text gives a control symbol.
  std::shared_ptr<const Tokenizer> tokenizer(int64_t rows) const;

  // How a mark is spelled: "bos", "eos", "unknown", "padding".
  std::optional<std::string> spelled(std::string_view mark) const;
  // All tokens that end a text: eos, those that the file's keys name as ends of turns, and those that are known to be
  // by their spelling.
  std::vector<int32_t> ends() const;

  const std::vector<SettingOrigin>& origins() const { return origins_; }
  std::vector<std::string> unread() const;

 private:
  std::optional<int64_t> id_of(std::string_view mark) const;
  bool flag(std::string_view key, bool absent) const;
  bool begins_with_bos() const;
  SpecialNames names() const;
  std::vector<SentencePieceModel::Piece> pieces() const;
  std::string scored_document() const;
  std::string merged_document() const;

  const GgufMetadata& metadata_;
  std::string kind_, cut_;
  std::vector<std::string> tokens_;
  std::vector<SettingOrigin> origins_;
};

}  // namespace heed
