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

/// The groups in a field with commas between them.
std::vector<std::string_view> groups_of(std::string_view field);

}  // namespace signalbox::spending
