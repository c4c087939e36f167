// The decoders of a tokenizer.json: they turn the texts of tokens back into text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/huggingface/json.h"

namespace heed::huggingface {

class Decoder {
 public:
  virtual ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Changes the texts of tokens; at the end they are put together.
  virtual void apply(std::vector<std::string>& tokens) const = 0;

  // Whether what a token becomes depends on no other, except that a byte may be part of a character and that the first
  // token may lose a space.
  virtual bool is_local() const { return true; }
  virtual bool drops_first_space() const { return false; }
  virtual bool drops_in_each() const { return false; }  // of all texts that it is given, not only the first
  virtual bool fuses() const { return false; }          // puts the texts together
  // For local ones: the bytes that a token stands for behind others.
  virtual void apply_alone(std::string& token) const = 0;

 protected:
  Decoder() = default;
};

using DecoderPtr = std::unique_ptr<Decoder>;

// From the value of "decoder"; FormatError for types and settings that are unknown.
DecoderPtr read_decoder(const JsonValue& json);

}  // namespace heed::huggingface
