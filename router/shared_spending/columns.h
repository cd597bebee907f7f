#pragma once
// Sums as rows of tables, and back. The rows come from a server that other programs may write to,
// so everything is checked.
//
// Names are texts of ASCII, so that databases of every encoding take them, and SQL shows the usual
// ones as they are: a byte beyond ASCII or a zero is a backslash with three octal digits, and a
// backslash is two. PostgreSQL's decode(name, 'escape') returns the bytes.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/spending/store.h"

namespace signalbox::shared_spending {

/// The columns of a table of sums after its id and day, and the member of a batch with its rows.
struct Columns {
  std::string_view member;
  std::span<const std::string_view> texts, counts, numbers;
};
const Columns& request_columns();
const Columns& shadow_columns();

/// The rest of longer names is not stored. Headers have fewer bytes by default.
inline constexpr size_t kNameBytesMax = 32 << 10;
/// The most characters of a name in a table.
inline constexpr size_t kNameTextMax = 4 * kNameBytesMax;

std::string escaped(std::string_view bytes);
/// Returns nullopt for a text that is too long or that escaped() would not write.
std::optional<std::string> unescaped(std::string_view text);

/// "key/day".
std::string name_of(spending::TotalKind kind);

/// Writes {"requests": [...], "shadows": [...], "totals": [...]}. Numbers are limited, so that
/// PostgreSQL's columns can add them up for years.
std::string text_of(const spending::Batch& batch);

/// Columns of a row, from its day. nullopt for rows that no router wrote.
using Cells = std::span<const std::string>;
std::optional<std::pair<spending::Account, spending::Spent>> read_request(Cells cells);
std::optional<std::pair<spending::ShadowAccount, spending::ShadowSpent>> read_shadow(Cells cells);
/// Kind, first day, currency, name and amount.
std::optional<spending::CommonTotal> read_total(Cells cells);

/// Reads a whole number; nullopt for other texts.
std::optional<int64_t> read_integer(std::string_view text);

}  // namespace signalbox::shared_spending
