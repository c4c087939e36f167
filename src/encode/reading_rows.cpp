#include "encode/reading_rows.h"

#include <algorithm>

#include "ops/rows/pool.h"
#include "ops/rows/select_rows.h"

namespace heed {
namespace {

using Batch = std::span<const EncodedText* const>;

// The rows in a batch of what `member` lists of each text.
std::vector<int32_t> listed_rows(const Sequences& sequences, Batch batch, std::vector<int32_t> EncodedText::*member) {
  std::vector<int32_t> rows;
  for (size_t s = 0; s < batch.size(); ++s) {
    for (const int32_t row : batch[s]->*member) {
      rows.push_back(static_cast<int32_t>(sequences.segments().begin(static_cast<int64_t>(s))) + row);
    }
  }
  return rows;
}

// The head's scores of the rows that `member` lists of each text.
Var scores_of_rows(Pass& pass, const EncoderOnly& model, const Sequences& sequences, Batch batch,
                   std::vector<int32_t> EncodedText::*member) {
  const std::vector<int32_t> rows = listed_rows(sequences, batch, member);
  return model.logits(pass, Hidden(select_rows(pass, model.hidden(pass, sequences).var(), rows))).var();
}

// The rows of the last layer; of an encoder-decoder, of its encoder's.
struct LastLayer {
  Pass& pass;
  const SourceSequences& texts;

  Hidden operator()(const EncoderOnly& model) const { return model.hidden(pass, texts); }
  Hidden operator()(const CausalLM& model) const { return model.hidden(pass, texts); }
  Hidden operator()(const Seq2Seq& model) const { return model.encode(pass, texts).hidden; }
};

// The rows of which embeddings are made: a first or a last token is one of the whole text.
struct PooledRows {
  Hidden rows;
  Segments texts;
};

PooledRows pooled_rows(Pass& pass, const Hidden& hidden, const Segments& texts, Batch batch, Pooling kind) {
  const bool all = kind == Pooling::first || kind == Pooling::last ||
                   std::ranges::all_of(batch, [](const EncodedText* text) { return text->unpooled == 0; });
  if (all) {
    return {hidden, texts};
  }
  std::vector<int32_t> rows;
  std::vector<int64_t> lengths;
  for (size_t s = 0; s < batch.size(); ++s) {
    const auto text = static_cast<int64_t>(s);
    lengths.push_back(texts.length(text) - batch[s]->unpooled);
    for (int64_t row = texts.begin(text) + batch[s]->unpooled; row < texts.end(text); ++row) {
      rows.push_back(static_cast<int32_t>(row));
    }
  }
  return {Hidden(select_rows(pass, hidden.var(), rows)), Segments(lengths)};
}

Var embedding_rows(Pass& pass, const AnyModel& model, const SourceSequences& sequences, Batch batch, Pooling kind) {
  const Hidden hidden = model.visit(LastLayer{pass, sequences});
  const PooledRows pooled = pooled_rows(pass, hidden, sequences.segments(), batch, kind);
  return model.config().architecture == Architecture::encoder
             ? model.encoder_only().text_embeddings(pass, pooled.rows, pooled.texts, kind).var()
             : pool(pass, pooled.rows.var(), pooled.texts, kind);
}

}  // namespace

Var reading_rows(Pass& pass, const AnyModel& model, const SourceSequences& sequences, Batch batch,
                 const Reading& reading) {
  switch (reading.result) {
    case Reading::Result::of_words:
      return scores_of_rows(pass, model.encoder_only(), sequences, batch, &EncodedText::first_of_words);
    case Reading::Result::of_masks:
      return scores_of_rows(pass, model.encoder_only(), sequences, batch, &EncodedText::masks);
    case Reading::Result::embeddings:
      return embedding_rows(pass, model, sequences, batch, reading.pooling);
    case Reading::Result::of_texts:
      break;
  }
  const EncoderOnly& encoder = model.encoder_only();
  return encoder.logits(pass, encoder.pooled(pass, sequences)).var();
}

int64_t rows_of_reading(const EncodedText& text, const Reading& reading) {
  switch (reading.result) {
    case Reading::Result::of_words:
      return std::ssize(text.first_of_words);
    case Reading::Result::of_masks:
      return std::ssize(text.masks);
    case Reading::Result::of_texts:
    case Reading::Result::embeddings:
      break;
  }
  return 1;
}

}  // namespace heed
