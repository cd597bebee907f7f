#pragma once
// Reads and writes JSON Lines for every command that processes rows.

#include <functional>
#include <istream>
#include <string>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::tools {

/// Longer rows are refused. Ten megabytes of text always fit, however they are escaped.
constexpr size_t kRowBytesMax = size_t{64} << 20;

/// Calls `row` for each line that is not blank, with its line number, counted from 1. A byte order
/// mark at the start of the input is skipped. Stops at the first error and returns it with the line
/// number; kIo without a line number if the stream cannot be read. Holds one row at a time.
Result<void> read_rows(std::istream& in,
                       const std::function<Result<void>(const json::Value& row, size_t line)>& row);

/// Calls `row` for each line of standard input that is not blank, and writes the returned string
/// and a line feed to standard output. Stops at the first error and returns it with its line
/// number: "line 3: text: expected a string". Holds one row at a time.
Result<void> for_each_row(const std::function<Result<std::string>(const json::Value& row)>& row);

/// Returns a required string member of a row; otherwise kInvalid, which names the member.
Result<std::string_view> string_member(const json::Value& row, std::string_view name);

/// Prints a line to standard error. Replaces control characters by '?', so that a name from a file
/// cannot move the cursor.
void print_line(std::string_view line);

/// Prints lines to standard output, with control characters replaced in the same way.
void print_tables(std::string_view text);

/// Prints "signalbox: <message>" in the same way and returns kExitFailure.
int report(const Error& error);

}  // namespace signalbox::tools
