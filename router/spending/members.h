#pragma once
// The members of accounts and sums in the order of their columns, for the stores.

#include <array>

#include "router/spending/spent.h"

namespace signalbox::spending {

template <class Of>
auto texts_of(Of& account) {
  return std::array{&account.key,   &account.user,     &account.groups,
                    &account.model, &account.decision, &account.currency};
}
template <class Of>
auto counts_of(Of& spent) {
  return std::array{&spent.requests, &spent.prompt,     &spent.cached,
                    &spent.written,  &spent.completion, &spent.reasoning};
}
template <class Of>
auto numbers_of(Of& spent) {
  return std::array{&spent.cost, &spent.cost_on_largest};
}

template <class Of>
auto shadow_texts_of(Of& account) {
  return std::array{&account.decision, &account.model, &account.shadow, &account.currency,
                    &account.shadow_currency};
}
template <class Of>
auto shadow_counts_of(Of& spent) {
  return std::array{&spent.failed,       &spent.pairs,    &spent.compared, &spent.agreed,
                    &spent.contradicted, &spent.measured, &spent.tokens,   &spent.shadow_tokens};
}
template <class Of>
auto shadow_numbers_of(Of& spent) {
  return std::array{&spent.similarity, &spent.cost,           &spent.shadow_cost,
                    &spent.seconds,    &spent.shadow_seconds, &spent.failed_cost};
}

}  // namespace signalbox::spending
