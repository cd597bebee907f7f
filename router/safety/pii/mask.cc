// A placeholder has a single '[', at its beginning. So bytes that turn out not to be a placeholder
// can be released up to the byte that showed it.

#include "router/safety/pii/mask.h"

#include <fmt/core.h>
#include <algorithm>

#include "base/ascii.h"

namespace signalbox::pii {

// Visits each bracket once and searches for no placeholder.
void Masks::avoid(std::string_view text) {
  for (size_t open = text.find('['); open != std::string_view::npos;) {
    const size_t next = text.find_first_of("[]", open + 1);
    if (next == std::string_view::npos) return;
    if (text[next] == ']' && ascii::is_digit(text[next - 1]))
      taken_.emplace(text.substr(open, next + 1 - open));
    open = text[next] == '[' ? next : text.find('[', next);
  }
}

const std::string& Masks::of(std::string_view type, std::string_view value) {
  auto [entry, is_new] =
      index_of_value_.try_emplace({std::string(type), std::string(value)}, all_.size());
  if (is_new) {
    size_t& number = numbers_.try_emplace(std::string(type), before_).first->second;
    Mask mask{{}, std::string(value)};
    do {
      mask.placeholder = fmt::format("[{}_{}]", type, ++number);
    } while (taken_.contains(mask.placeholder));
    all_.push_back(std::move(mask));
  }
  return all_[entry->second].placeholder;
}

MaskTable::MaskTable(std::vector<Mask> masks) : by_placeholder_(std::move(masks)) {
  std::sort(by_placeholder_.begin(), by_placeholder_.end(),
            [](const Mask& a, const Mask& b) { return a.placeholder < b.placeholder; });
}

const Mask* MaskTable::find(std::string_view text) const {
  const auto first = std::lower_bound(
      by_placeholder_.begin(), by_placeholder_.end(), text,
      [](const Mask& mask, std::string_view wanted) { return mask.placeholder < wanted; });
  return first != by_placeholder_.end() && first->placeholder.starts_with(text) ? &*first : nullptr;
}

void Unmasker::push(std::string_view text, std::string& out) {
  size_t at = 0;
  while (at < text.size()) {
    if (held_.empty()) {
      const size_t open = std::min(text.find('[', at), text.size());
      out += text.substr(at, open - at);
      at = open;
      if (at == text.size()) return;
    } else if (text[at] == '[') {
      out += std::exchange(held_, {});
    }
    held_ += text[at++];
    const Mask* mask = masks_->find(held_);
    if (mask == nullptr) {
      out += std::exchange(held_, {});
    } else if (mask->placeholder == held_) {
      out += mask->original;
      held_.clear();
    }
  }
}

void Unmasker::finish(std::string& out) {
  out += std::exchange(held_, {});
}

std::string unmasked(std::string_view text, const MaskTable& masks) {
  std::string out;
  Unmasker unmasker(masks);
  unmasker.push(text, out);
  unmasker.finish(out);
  return out;
}

}  // namespace signalbox::pii
