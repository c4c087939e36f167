#include "api/draft_model.h"

namespace heed {
namespace {

// A token of the one must be the same token of the other.
void require_same_vocabulary(const Tokenizer& draft, const Tokenizer& target, const ModelFolder& draft_folder,
                             const ModelFolder& target_folder, std::string_view role) {
  const auto differ = [&](const std::string& how) {
    fail<FormatError>(draft_folder.path.string(),
                      "cannot draft for {}, which has another {} vocabulary: {}; train the draft with the tokenizer of "
                      "that model",
                      target_folder.path.string(), role, how);
  };
  if (draft.vocabulary_size() != target.vocabulary_size()) {
    differ(fmt::format("{} tokens, not {}", target.vocabulary_size(), draft.vocabulary_size()));
  }
  for (int32_t id = 0; id < static_cast<int32_t>(target.vocabulary_size()); ++id) {
    const std::string_view found = draft.piece(TokenId(id)), wanted = target.piece(TokenId(id));
    if (found != wanted) {
      differ(fmt::format("token {} is '{}', not '{}'", id, wanted, found));
    }
  }
  if (!(draft.special() == target.special())) {
    differ("its special tokens are others");
  }
}

}  // namespace

LoadedDraft::LoadedDraft(const DraftOptions& options, const ModelFolder& target_folder, const StoredModel& target,
                         Backend& backend, DType storage) {
  if (options.by == Drafts::none) {
    return;
  }
  validate(options, target.config().decoder_layers);
  if (options.by == Drafts::model) {
    const ModelFolder folder{options.model};
    require_architecture(folder, target.config().architecture);
    model_.emplace(folder, backend, storage);
    for (const TokenizerRole& role : tokenizer_roles(target.config().architecture)) {
      require_same_vocabulary(model_->tokenizer(role.name), target.tokenizer(role.name), folder, target_folder,
                              role.name);
    }
  }
  drafting_.emplace(Drafting{options, model_ ? &model_->model() : nullptr, log_});
  if (model_) {
    drafting_->share = static_cast<double>(model_->step_bytes()) / static_cast<double>(target.step_bytes());
  } else if (options.by == Drafts::layers) {
    drafting_->share = share_of_step(target.config(), options.layers);
  }
}

}  // namespace heed
