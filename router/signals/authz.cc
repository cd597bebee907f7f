// Signals of type authz: the role of the requester. A condition names a role, so all bindings of
// one role form one signal.

#include <algorithm>

#include "base/ascii.h"
#include "router/config/access.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

using Subject = config::RoleBinding::Subject;

class RoleSignals : public SignalType {
 public:
  RoleSignals(const std::vector<config::RoleBinding>& bindings, const config::Authz& authz)
      : user_header_(ascii::lower_case(authz.identity.user_id_header)),
        groups_header_(ascii::lower_case(authz.identity.user_groups_header)) {
    for (const config::RoleBinding& binding : bindings) {
      const auto same = [&](const Role& role) { return role.name == binding.role; };
      auto found = std::find_if(roles_.begin(), roles_.end(), same);
      if (found == roles_.end()) found = roles_.insert(found, {binding.role, {}});
      for (const Subject& subject : binding.subjects) found->subjects.push_back(&subject);
    }
  }

  std::string_view type() const override { return "authz"; }
  Needs needs() const override { return Needs::kRequest; }
  size_t size() const override { return roles_.size(); }
  std::string_view name(size_t signal) const override { return roles_[signal].name; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    const std::string_view user = config::identity_of(inputs.header(user_header_).value_or(""));
    const std::string_view groups = inputs.header(groups_header_).value_or("");
    for (uint32_t i = 0; i < roles_.size(); ++i) {
      for (const Subject* subject : roles_[i].subjects) {
        const bool has = subject->kind == Subject::Kind::kUser
                             ? user == subject->name
                             : config::is_member(groups, subject->name);
        if (!has) continue;
        out[i] = {true, 1, 1};
        evidence.push_back({i, subject->name, 1});
        break;
      }
    }
    return {};
  }

 private:
  struct Role {
    std::string_view name;
    std::vector<const Subject*> subjects;
  };
  std::string user_header_, groups_header_;
  std::vector<Role> roles_;
};

}  // namespace

SignalTypeResult authz_signals(const std::vector<config::RoleBinding>& bindings,
                               const config::Authz& authz) {
  return std::make_unique<RoleSignals>(bindings, authz);
}

}  // namespace signalbox::signals
