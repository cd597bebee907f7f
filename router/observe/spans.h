#pragma once
// A request as OpenTelemetry spans. Names and attributes are those of the vLLM Semantic Router, so
// that its dashboards work. Attributes contain configured names, numbers and ids, but no content.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "router/observe/account.h"

namespace signalbox::observe {

struct Span {
  enum class Kind : uint8_t { kInternal = 1, kServer = 2, kClient = 3 };  // OTLP's numbers
  using Value = std::variant<std::string, int64_t, double, bool, std::vector<std::string>>;

  std::string name;
  Kind kind = Kind::kInternal;
  std::array<uint8_t, 8> id{}, parent{};                            // all zero: none
  uint64_t began_ns = 0, ended_ns = 0;                              // since 1970
  std::vector<std::pair<std::string_view, Value>> attributes = {};  // static keys
  std::string error = {};                                           // "": success
};

/// Returns the root first; children follow their parents.
std::vector<Span> spans_of(const Account& account);

}  // namespace signalbox::observe
