#pragma once
// The spending of requests, as plain values.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::spending {

/// A day in UTC: days since 1970.
using Day = int64_t;

/// The key of one account of spending: a client, a model and a day. Names come from the
/// configuration, from keys and from trusted headers. "" stands for none.
struct Account {
  Day day = 0;
  std::string key, user, groups;  // groups with commas between them
  std::string model, decision;
  std::string currency;  // "": the model has no price

  auto operator<=>(const Account&) const = default;
};

struct Spent {
  uint64_t requests = 0;
  uint64_t prompt = 0;      // tokens; cached and written ones are parts of it
  uint64_t cached = 0;      // read from the server's cache
  uint64_t written = 0;     // written to it
  uint64_t completion = 0;  // tokens; those of reasoning are a part of it
  uint64_t reasoning = 0;
  double cost = 0;
  double cost_on_largest = 0;  // of the same tokens on the most expensive model in that currency

  Spent& operator+=(const Spent& more) {
    requests += more.requests;
    prompt += more.prompt;
    cached += more.cached;
    written += more.written;
    completion += more.completion;
    reasoning += more.reasoning;
    cost += more.cost;
    cost_on_largest += more.cost_on_largest;
    return *this;
  }
};

/// The key of one sum of shadows: whose answers were compared on a day. A shadow is spending of its
/// own kind: it is charged to no client and counts for no budget.
struct ShadowAccount {
  Day day = 0;
  std::string decision;
  std::string model, shadow;              // whose answer the client got, and whose it did not get
  std::string currency, shadow_currency;  // "": the model has no price

  auto operator<=>(const ShadowAccount&) const = default;
};

/// Pairs are shadows that were answered. Tokens, costs and times are those of pairs, so that both
/// sides have answered the same requests.
struct ShadowSpent {
  uint64_t failed = 0;  // no answer came
  uint64_t pairs = 0;
  uint64_t compared = 0;      // of `pairs`
  uint64_t agreed = 0;        // of `compared`
  uint64_t contradicted = 0;  // of `compared`
  uint64_t measured = 0;      // pairs with a similarity
  double similarity = 0;      // sum of these
  uint64_t tokens = 0, shadow_tokens = 0;
  double cost = 0, shadow_cost = 0;
  double seconds = 0, shadow_seconds = 0;
  double failed_cost = 0;  // of answers that could not be read

  ShadowSpent& operator+=(const ShadowSpent& more) {
    failed += more.failed;
    pairs += more.pairs;
    compared += more.compared;
    agreed += more.agreed;
    contradicted += more.contradicted;
    measured += more.measured;
    similarity += more.similarity;
    tokens += more.tokens;
    shadow_tokens += more.shadow_tokens;
    cost += more.cost;
    shadow_cost += more.shadow_cost;
    seconds += more.seconds;
    shadow_seconds += more.shadow_seconds;
    failed_cost += more.failed_cost;
    return *this;
  }
};

/// The groups in a field with commas between them, each of them once.
std::vector<std::string_view> groups_of(std::string_view field);

}  // namespace signalbox::spending
