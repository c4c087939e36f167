// The vocabulary file: what a wordpiece, word, char or byte tokenizer knows, as JSON.
//
//   {
//    "format": "heed-tokenizer",
//    "version": 1,
//    "kind": "word",
//    "normalization": "nfc lowercase",
//    "special": {"pad": "<pad>", "unk": "<unk>", "bos": "<s>", "eos": "</s>", "sep": "<sep>"},
//    "user_symbols": [],
//    "pieces": ["the", ...],
//    "checksum": "0123456789abcdef"
//   }
//
// Ids number the special tokens first, then the user symbols, then the pieces (for byte: the 256 bytes, which are not
// listed).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"
#include "text/unicode/normalization.h"

namespace heed {

constexpr size_t kSpecials = 5;  // special tokens
constexpr size_t kBytes = 256;

struct Vocabulary {
  TokenizerKind kind = TokenizerKind::word;
  Normalization normalization;
  SpecialTexts special;
  std::vector<std::string> user_symbols;  // one token each wherever they stand in the text
  std::vector<std::string> pieces;
};

// ConfigError for texts that are empty, equal to another, not UTF-8, spelled like a byte's piece, or changed by
// normalization.
void check_symbols(const SpecialTexts& special, const std::vector<std::string>& user_symbols,
                   Normalization normalization);

std::string write_vocabulary(const Vocabulary& vocabulary);

// FormatError names `where` and what is wrong. The checksum covers every byte, so that no edit goes unnoticed.
Vocabulary parse_vocabulary(std::string_view content, std::string_view where);

// 64 bits of the content (FNV-1a) as 16 digits: against accidents, not against forgery.
std::string checksum_of(std::string_view content);

}  // namespace heed
