#include "data/corpus/token_store.h"

#include "base/errors.h"

namespace heed {

TokenStore::TokenStore(int64_t vocabulary, const SpillRules& rules)
    : vocabulary_(vocabulary), narrow_(rules), wide_(rules), ends_(rules) {
  require<ConfigError>(vocabulary > 0 && vocabulary <= INT32_MAX, "tokens", "a vocabulary of {}, expected 1 to {}",
                       vocabulary, INT32_MAX);
}

TokenStore::TokenStore(const StoredFields& fields, const std::string& name, int64_t vocabulary)
    : TokenStore(vocabulary) {
  if (is_narrow()) {
    narrow_ = fields.array_below<uint16_t>(name + ".tokens", vocabulary);
  } else {
    wide_ = fields.array_below<int32_t>(name + ".tokens", vocabulary);
  }
  tokens_ = is_narrow() ? narrow_.size() : wide_.size();
  ends_ = fields.ends(name + ".ends", tokens_, StoredFields::Sequences::filled);
}

void TokenStore::store(FieldsToStore& fields, const std::string& name) const {
  if (is_narrow()) {
    fields.add(name + ".tokens", narrow_);
  } else {
    fields.add(name + ".tokens", wide_);
  }
  fields.add(name + ".ends", ends_);
}

void TokenStore::append(std::span<const TokenId> sequence) {
  extend(sequence);
  end_sequence();
}

void TokenStore::extend(std::span<const TokenId> tokens) {
  for (const TokenId id : tokens) {
    require(id.value >= 0 && id.value < vocabulary_, "tokens", "id {} in a vocabulary of {}", id.value, vocabulary_);
  }
  for (const TokenId id : tokens) {
    if (is_narrow()) {
      narrow_.append(static_cast<uint16_t>(id.value));
    } else {
      wide_.append(id.value);
    }
  }
  tokens_ += static_cast<int64_t>(tokens.size());
}

void TokenStore::end_sequence() { ends_.append(tokens_); }

void TokenStore::seal() {
  narrow_.seal();
  wide_.seal();
  ends_.seal();
}

void TokenStore::read(int64_t s, std::vector<int32_t>& ids) const {
  ensure(s >= 0 && s < size(), "tokens", "sequence {} of {}", s, size());
  read_between(begin(s), end(s), ids);
}

void TokenStore::read_between(int64_t begin, int64_t end, std::vector<int32_t>& ids) const {
  ensure(0 <= begin && begin <= end && end <= tokens_, "tokens", "{} to {} of {}", begin, end, tokens_);
  if (is_narrow()) {
    const auto slice = narrow_.slice(begin, end);
    ids.insert(ids.end(), slice.begin(), slice.end());
  } else {
    const auto slice = wide_.slice(begin, end);
    ids.insert(ids.end(), slice.begin(), slice.end());
  }
}

}  // namespace heed
