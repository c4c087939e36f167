#include "interchange/foreign_source.h"

#include "interchange/ctranslate2/ctranslate2_model.h"
#include "interchange/gguf/gguf_model.h"
#include "interchange/huggingface/huggingface_model.h"
#include "interchange/huggingface/tokenizer_files.h"
#include "interchange/marian/marian_model.h"
#include "text/huggingface/huggingface_tokenizer.h"

namespace heed {

bool is_foreign_model(const std::filesystem::path& path) {
  return is_gguf_model(path) || is_huggingface_model(path) || is_ctranslate2(path) || is_marian(path);
}

ForeignModel read_foreign_model(const std::filesystem::path& path) {
  if (is_gguf_model(path)) {
    return read_gguf_model(path);
  }
  if (is_ctranslate2(path)) {
    return read_ctranslate2_model(path).model;
  }
  if (!is_marian(path)) {
    return read_huggingface_model(path);
  }
  const MarianDecoder decoder = read_marian_decoder(path);
  ForeignModel model = read_marian_model(decoder.weights).model;
  model.decoding.beam = decoder.beam;
  model.decoding.length_penalty = decoder.length_penalty;
  model.origins.insert(model.origins.end(), decoder.origins.begin(), decoder.origins.end());
  model.unread.insert(model.unread.end(), decoder.unread.begin(), decoder.unread.end());
  return model;
}

Tokenizers read_foreign_tokenizers(const std::filesystem::path& path, const ForeignModel& model) {
  if (is_gguf_model(path)) {
    return {read_gguf_tokenizer(path, model)};
  }
  if (is_ctranslate2(path)) {
    return read_ctranslate2_tokenizers(path, model);
  }
  return is_marian(path) ? read_marian_tokenizers(path, model) : read_huggingface_tokenizers(path, model);
}

std::vector<std::string> foreign_notes(const ForeignModel& model, const Tokenizers& tokenizers) {
  std::vector<std::string> notes = model.notes();
  for (size_t i = 0; i < tokenizers.size(); ++i) {
    const auto* const tokenizer = dynamic_cast<const HuggingFaceTokenizer*>(tokenizers[i].get());
    if (tokenizer == nullptr || (i > 0 && tokenizers[i] == tokenizers[0])) {
      continue;
    }
    for (const std::string& note : tokenizer->notes()) {
      notes.push_back("tokenizer: " + note);
    }
  }
  return notes;
}

std::shared_ptr<const ForeignWeights> open_foreign_weights(const ForeignModel& model, BlocksAs blocks) {
  return std::make_shared<const ForeignWeights>(model.archive, model.names, model.config, blocks);
}

}  // namespace heed
