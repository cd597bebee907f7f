// Labels may be tagged as parts of a span (B-PERSON); a type is what is behind the tag.

#include "router/signals/pii_finder.h"

#include <algorithm>

#include "router/signals/windows.h"

namespace signalbox::router {
namespace {

std::string type_of(std::string_view label) {
  const bool tagged = label.size() > 2 && label[1] == '-' &&
                      std::string_view("BIESLU").find(label[0]) != std::string_view::npos;
  return upper_ascii(label.substr(tagged ? 2 : 0));
}

}  // namespace

std::string upper_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

PiiFinder::PiiFinder(ModelChoice classifier) : classifier_(std::move(classifier)) {
  const auto& own = classifier_.model->heads()[classifier_.head].labels;
  for (size_t i = 0; i < classifier_.labels.size(); ++i) {
    const std::string type = type_of(classifier_.labels[i]);
    const auto known = std::find(types_.begin(), types_.end(), type);
    type_of_own_.emplace(type_of(own[i]), static_cast<size_t>(known - types_.begin()));
    if (known == types_.end()) types_.push_back(type);
  }
}

Result<bool> PiiFinder::find(const std::vector<std::string_view>& texts, Inputs& inputs,
                             std::vector<double>& scores) const {
  const Windows windows = windows_of(texts, window_bytes(*classifier_.model));
  for (const std::string_view window : windows.pieces) {
    SIGNALBOX_TRY(const auto answers, inputs.answers(*classifier_.model, window));
    for (const engine::Entity& entity : answers[classifier_.head].entities) {
      const auto type = type_of_own_.find(upper_ascii(entity.type));
      if (type == type_of_own_.end()) {
        return fail(Code::kCorrupt, "the model marks \"{}\", which is none of its labels",
                    entity.type);
      }
      double& score = scores[type->second];
      score = std::max(score, static_cast<double>(entity.score));
    }
  }
  return windows.whole;
}

}  // namespace signalbox::router
