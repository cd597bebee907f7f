// A stand-in for a signal type without its model. It keeps the names, so that conditions resolve
// and can report why the signal is unavailable.

#include <string>

#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

class Unavailable : public SignalType {
 public:
  Unavailable(std::string_view type, std::vector<std::string> names, std::string why)
      : type_(type), names_(std::move(names)), why_(std::move(why)) {}

  std::string_view type() const override { return type_; }
  Needs needs() const override { return Needs::kRequest; }
  size_t size() const override { return names_.size(); }
  std::string_view name(size_t signal) const override { return names_[signal]; }
  std::string_view unavailable(size_t) const override { return why_; }
  Result<void> evaluate(Inputs&, std::span<Reading>, std::vector<Evidence>&) const override {
    return {};
  }

 private:
  std::string type_;
  std::vector<std::string> names_;
  std::string why_;
};

}  // namespace

std::unique_ptr<const SignalType> unavailable_signals(std::string_view type,
                                                      std::vector<std::string> names,
                                                      std::string why) {
  return std::make_unique<Unavailable>(type, std::move(names), std::move(why));
}

}  // namespace signalbox::signals
