// The tests' corpus, as SentencePiece's own trainer reads it.
#pragma once

#include <sentencepiece_trainer.h>

#include <string>
#include <vector>

#include "text/tokenizer_testing.h"

namespace heed::test {

class CorpusLines final : public sentencepiece::SentenceIterator {
 public:
  bool done() const override { return next_ == lines_.size(); }
  void Next() override { ++next_; }
  const std::string& value() const override { return lines_[next_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<std::string> lines_ = corpus();
  size_t next_ = 0;
};

}  // namespace heed::test
