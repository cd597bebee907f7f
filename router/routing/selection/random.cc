// Every candidate gets the same share of the requests.

#include <algorithm>

#include "router/routing/selection/algorithms.h"

namespace signalbox::selection {
namespace {

class Random final : public Selector {
 public:
  std::string_view method() const override { return "random"; }
  Result<Choice> choose(std::span<const Candidate> candidates,
                        const SelectionInputs& inputs) const override {
    const auto drawn = static_cast<size_t>(inputs.draw * static_cast<double>(candidates.size()));
    return Choice{std::min(drawn, candidates.size() - 1), "drawn at random"};
  }
};

}  // namespace

std::unique_ptr<const Selector> random_choice() {
  return std::make_unique<Random>();
}

}  // namespace signalbox::selection
