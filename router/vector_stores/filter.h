#pragma once
// Filters of a search: conditions on the attributes of files, as in OpenAI's API.

#include <string>
#include <string_view>
#include <vector>

#include "router/vector_stores/records.h"

namespace signalbox::vector_stores {

/// A comparison, or several filters combined: all of them or any of them must hold.
struct Filter {
  enum class Type : uint8_t { kEq, kNe, kGt, kGte, kLt, kLte, kIn, kNin, kAnd, kOr };

  Type type = Type::kAnd;  // without parts, it holds for every file
  std::string key = {};
  std::vector<Attribute> values = {};  // one, or several for kIn and kNin
  std::vector<Filter> parts = {};      // kAnd, kOr

  /// A file without the attribute fulfils only kNe and kNin. Values of different types are never
  /// equal, and only numbers and texts have an order.
  bool holds(const Attributes& attributes) const;
};

/// Errors: kInvalid with the path of the member; also for more than 100 comparisons, and for
/// filters nested more than 8 deep.
Result<Filter> read_filter(const json::Value& value);

}  // namespace signalbox::vector_stores
