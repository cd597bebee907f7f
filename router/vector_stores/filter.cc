// A filter is evaluated once for each file of the store, not for each chunk.

#include "router/vector_stores/filter.h"

#include <algorithm>
#include <array>
#include <utility>

namespace signalbox::vector_stores {
namespace {

using Type = Filter::Type;

constexpr std::array<std::pair<std::string_view, Type>, 10> kTypes{{{"eq", Type::kEq},
                                                                    {"ne", Type::kNe},
                                                                    {"gt", Type::kGt},
                                                                    {"gte", Type::kGte},
                                                                    {"lt", Type::kLt},
                                                                    {"lte", Type::kLte},
                                                                    {"in", Type::kIn},
                                                                    {"nin", Type::kNin},
                                                                    {"and", Type::kAnd},
                                                                    {"or", Type::kOr}}};
constexpr size_t kComparisonsMax = 100;
constexpr size_t kDepthMax = 8;

bool has_order(const Attribute& a, const Attribute& b) {
  return a.index() == b.index() && !std::holds_alternative<bool>(a);
}

bool compare(Type type, const Attribute& a, const Attribute& b) {
  switch (type) {
    case Type::kGt:
      return has_order(a, b) && a > b;
    case Type::kGte:
      return has_order(a, b) && a >= b;
    case Type::kLt:
      return has_order(a, b) && a < b;
    case Type::kLte:
      return has_order(a, b) && a <= b;
    default:
      return a == b;
  }
}

class FilterReader {
 public:
  Result<Filter> read(const json::Value& value, const std::string& where, size_t depth) {
    if (depth > kDepthMax)
      return fail(Code::kInvalid, "{}: nested more than {} deep", where, kDepthMax);
    if (!value.is_object())
      return fail(Code::kInvalid, "{}: expected an object, found {}", where,
                  json::type_name(value.type()));
    SIGNALBOX_TRY(const Type type, read_type(value, where));
    if (type == Type::kAnd || type == Type::kOr) return read_parts(type, value, where, depth);
    return read_comparison(type, value, where);
  }

 private:
  static Result<Type> read_type(const json::Value& value, const std::string& where) {
    const auto type = value.find("type");
    for (const auto& [name, known] : kTypes) {
      if (type && type->is_string() && type->text() == name) return known;
    }
    return fail(Code::kInvalid,
                "{}.type: expected eq, ne, gt, gte, lt, lte, in, nin, and or or, found {}", where,
                !type ? "none" : json::quote_briefly(type->raw()));
  }

  Result<Filter> read_parts(Type type, const json::Value& value, const std::string& where,
                            size_t depth) {
    const auto list = value.find("filters");
    if (!list || !list->is_array())
      return fail(Code::kInvalid, "{}.filters: expected a list", where);
    Filter out{type};
    for (const json::Value part : list->items()) {
      const std::string place = fmt::format("{}.filters[{}]", where, out.parts.size());
      SIGNALBOX_TRY(Filter read_part, read(part, place, depth + 1));
      out.parts.push_back(std::move(read_part));
    }
    if (out.parts.empty())
      return fail(Code::kInvalid, "{}.filters: expected at least one filter", where);
    return out;
  }

  Result<Filter> read_comparison(Type type, const json::Value& value, const std::string& where) {
    if (++comparisons_ > kComparisonsMax)
      return fail(Code::kInvalid, "{}: more than {} comparisons", where, kComparisonsMax);
    const auto key = value.find("key");
    if (!key || !key->is_string()) return fail(Code::kInvalid, "{}.key: expected a string", where);
    Filter out{type, std::string(key->text())};
    const auto wanted = value.find("value");
    if (!wanted) return fail(Code::kInvalid, "{}.value: missing", where);
    const bool takes_list = type == Type::kIn || type == Type::kNin;
    if (takes_list != wanted->is_array())
      return fail(Code::kInvalid, "{}.value: expected {}", where,
                  takes_list ? "a list" : "a string, a number or a boolean");
    if (!takes_list) {
      SIGNALBOX_TRY(Attribute read_value, read_value_of(*wanted, where));
      out.values.push_back(std::move(read_value));
      return out;
    }
    for (const json::Value each : wanted->items()) {
      if (out.values.size() == kComparisonsMax)
        return fail(Code::kInvalid, "{}.value: more than {} values", where, kComparisonsMax);
      SIGNALBOX_TRY(Attribute read_value, read_value_of(each, where));
      out.values.push_back(std::move(read_value));
    }
    return out;
  }

  static Result<Attribute> read_value_of(const json::Value& value, const std::string& where) {
    if (value.is_bool()) return Attribute(value.boolean());
    if (value.is_string()) return Attribute(std::string(value.text()));
    if (!value.is_number())
      return fail(Code::kInvalid, "{}.value: expected a string, a number or a boolean, found {}",
                  where, json::type_name(value.type()));
    SIGNALBOX_TRY(const double number, value.number());
    return Attribute(number);
  }

  size_t comparisons_ = 0;
};

}  // namespace

bool Filter::holds(const Attributes& attributes) const {
  const auto part_holds = [&](const Filter& part) { return part.holds(attributes); };
  if (type == Type::kAnd) return std::ranges::all_of(parts, part_holds);
  if (type == Type::kOr) return std::ranges::any_of(parts, part_holds);
  const bool is_negated = type == Type::kNe || type == Type::kNin;
  const auto found = attributes.find(key);
  if (found == attributes.end()) return is_negated;
  const bool any = std::ranges::any_of(
      values, [&](const Attribute& value) { return compare(type, found->second, value); });
  return any != is_negated;
}

Result<Filter> read_filter(const json::Value& value) {
  return FilterReader().read(value, "filters", 1);
}

}  // namespace signalbox::vector_stores
