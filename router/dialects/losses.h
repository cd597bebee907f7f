#pragma once
// The parts of a request that a translation leaves out, because the other API has no place for
// them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::dialects {

/// Collected while one request is read. A request is refused only if leaving a part out would
/// change its meaning, or if the operator wants no part left out except hints.
class Losses {
 public:
  /// Further names are counted only.
  static constexpr size_t kNamesMax = 32;

  /// A part without effect on the answer, such as a mark for the server's cache.
  void hint(std::string_view name);
  /// A part that a model would have used: a tool of the provider, a parameter. `content` is the
  /// part itself if it has text. `name` is a path without indices ("tools.web_search").
  void drop(std::string_view name, const std::optional<json::Value>& content = std::nullopt);
  /// An element of the list `list` ("tools", "messages"), of a kind that the client chose. The kind
  /// becomes a part of the name only if it is one of the APIs' own, because a client may write any
  /// text there.
  void drop_kind(std::string_view list, std::string_view kind,
                 const std::optional<json::Value>& content = std::nullopt);
  /// A parameter of the request that may have any name; an unusual one counts as "other
  /// parameters".
  void drop_parameter(std::string_view name);
  /// A part that only guards read, as JSON.
  void show(std::string_view json);
  /// A part without which the request means something else. The first one is kept.
  void refuse(Error why);

  /// The names, separated by a comma and a space; "" if nothing was left out.
  std::string names() const;
  /// The reason why the request cannot be translated; nullopt if it can. `strict`: only hints may
  /// be left out.
  std::optional<Error> refusal(bool strict) const;
  /// The parts themselves as a JSON array, for guards: a server of the client's API would read
  /// them. "" if there are none.
  std::string contents() const;
  size_t memory_bytes() const { return contents_.capacity(); }

  /// Adds the losses of a second translation.
  void add(const Losses& other);

 private:
  void name(std::string_view name);

  std::vector<std::string> names_;
  size_t unnamed_ = 0;   // names beyond kNamesMax
  std::string dropped_;  // the first part that was dropped and is not a hint
  std::optional<Error> refusal_;
  std::string contents_;
};

}  // namespace signalbox::dialects
