// The lists are short and searched linearly: a request has few texts that models read.

#include "router/signals/inputs.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "router/signals/text_classes.h"

namespace signalbox::signals {

namespace {

// True if a head has no answer because a screen has cleared the text.
bool is_cleared(const engine::TextModel& model, std::span<const engine::Answer> answers) {
  for (size_t h = 0; h < answers.size(); ++h) {
    if (engine::clears(model.heads()[h], answers[h])) return true;
  }
  return false;
}

}  // namespace

// A text that may be cleared takes the result of a full pass, but not the reverse.
template <class T>
Inputs::Pass<T>& Inputs::pass_of(Passes<T>& passes, const engine::TextEmbedder* model,
                                 std::string_view text, bool screened) {
  const std::lock_guard lock(mutex_);
  for (Pass<T>& pass : passes) {
    if (pass.is_of(model, text) && (screened || !pass.screened)) return pass;
  }
  return passes.emplace_back(model, text, screened);
}

std::string_view Inputs::digest(std::string_view type, std::string_view text) {
  if (compression_ == nullptr || !compression_->concerns(type)) return text;
  auto& pass = pass_of(shortened_, nullptr, text);
  std::call_once(pass.once, [&] { pass.result = compression_->shorten(text); });
  const std::optional<compress::Skeleton>& skeleton = *pass.result;
  return skeleton ? std::string_view(skeleton->text) : text;
}

const GuardedTexts& Inputs::guarded_texts(const std::vector<std::string_view>& texts) {
  const std::lock_guard lock(mutex_);
  const auto is_same = [](std::string_view a, std::string_view b) {
    return a.data() == b.data() && a.size() == b.size();
  };
  for (const auto& [of, guarded] : guarded_) {
    if (std::ranges::equal(of, texts, is_same)) return guarded;
  }
  return guarded_
      .emplace_back(std::piecewise_construct, std::forward_as_tuple(texts),
                    std::forward_as_tuple(texts))
      .second;
}

Result<std::span<const float>> Inputs::embedding(std::string_view text) {
  SIGNALBOX_CHECK(embedder_ != nullptr);
  Pass<std::vector<float>>& pass = pass_of(embedded_, embedder_, text);
  pass.run([&]() -> Result<std::vector<float>> {
    std::vector<float> vector(static_cast<size_t>(embedder_->dim()));
    SIGNALBOX_TRY_VOID(embedder_->embed_within(patience_, {&text, 1}, vector));
    return vector;
  });
  if (!pass.result) return tl::unexpected<Error>(pass.result.error());
  return std::span<const float>(*pass.result);
}

std::vector<Inputs::ModelPass> Inputs::passes() const {
  std::vector<ModelPass> out;
  const auto add = [&out](const auto& passes) {
    for (const auto& pass : passes) {
      std::optional<Code> error;
      if (!pass.result) error = pass.result.error().code;
      out.push_back({pass.model, pass.began, pass.ended, error});
    }
  };
  add(embedded_);
  size_t at = out.size();
  add(answered_);
  for (const auto& pass : answered_) {
    out[at++].cleared =
        pass.screened && pass.result && is_cleared(*pass.model->text_model(), *pass.result);
  }
  return out;
}

Result<std::span<const engine::Answer>> Inputs::answers(const engine::TextModel& model,
                                                        std::string_view text, bool screened) {
  Pass<std::vector<engine::Answer>>& pass = pass_of(answered_, &model, text, screened);
  pass.run([&] {
    const engine::Input input{.text = text, .screened = pass.screened};
    return model.answer_within(patience_, {&input, 1});
  });
  if (!pass.result) return tl::unexpected<Error>(pass.result.error());
  return std::span<const engine::Answer>(*pass.result);
}

Result<void> Inputs::answer_ahead(const engine::TextModel& model,
                                  std::span<const std::string_view> texts, bool screened) {
  std::vector<engine::Input> inputs;
  std::vector<Pass<std::vector<engine::Answer>>*> passes;
  for (const std::string_view text : texts) {
    auto& pass = pass_of(answered_, &model, text, screened);
    if (pass.is_begun) continue;
    inputs.push_back({.text = text, .screened = pass.screened});
    passes.push_back(&pass);
  }
  SIGNALBOX_TRY(std::vector<engine::Answer> all, model.answer_within(patience_, inputs));
  const size_t heads = model.heads().size();
  for (size_t i = 0; i < passes.size(); ++i) {
    const auto first = std::make_move_iterator(all.begin() + static_cast<ptrdiff_t>(i * heads));
    passes[i]->run([&]() -> Result<std::vector<engine::Answer>> {
      return std::vector<engine::Answer>(first, first + static_cast<ptrdiff_t>(heads));
    });
  }
  return {};
}

Result<std::span<const std::vector<float>>> Inputs::classes(const engine::TextModel& model,
                                                            std::string_view text) {
  Pass<std::vector<std::vector<float>>>& pass = pass_of(classified_, &model, text);
  const auto answer_windows =
      [&](std::span<const std::string_view> windows) -> Result<std::vector<engine::Answer>> {
    if (windows.size() > 1) SIGNALBOX_TRY_VOID(answer_ahead(model, windows));
    std::vector<engine::Answer> out;  // (windows, heads)
    for (const std::string_view window : windows) {
      SIGNALBOX_TRY(const auto results, answers(model, window));
      out.insert(out.end(), results.begin(), results.end());
    }
    return out;
  };
  pass.run([&] { return text_classes(model, {&text, 1}, answer_windows); });
  if (!pass.result) return tl::unexpected<Error>(pass.result.error());
  return std::span<const std::vector<float>>(*pass.result);
}

std::span<const std::vector<float>> Inputs::known_classes(std::string_view type,
                                                          const engine::TextModel& model,
                                                          std::string_view text) const {
  if (compression_ != nullptr && compression_->concerns(type)) {
    const auto is_of_text = [&](const auto& pass) { return pass.is_of(nullptr, text); };
    const auto found = std::find_if(shortened_.begin(), shortened_.end(), is_of_text);
    if (found != shortened_.end() && *found->result) text = (*found->result)->text;
  }
  for (const Pass<std::vector<std::vector<float>>>& pass : classified_) {
    if (pass.is_of(&model, text) && pass.result) return *pass.result;
  }
  return {};
}

}  // namespace signalbox::signals
