#pragma once
// JSON Lines in and out, as every command that reads rows does it.

#include <functional>
#include <istream>
#include <string>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::tools {

/// A longer row is refused: ten megabytes of text are less however they are escaped.
constexpr size_t kRowBytesMax = size_t{64} << 20;

/// Calls `row` for each line that is not blank, with its number from 1 on; a byte order mark before
/// the first is none of its text. Stops at the first error and returns it with that number; kIo,
/// without one, when the stream cannot be read. Holds one row at a time.
Result<void> read_rows(std::istream& in,
                       const std::function<Result<void>(const json::Value& row, size_t line)>& row);

/// Calls `row` for each line of standard input that is not blank, and writes the string it returns
/// with a line feed to standard output. Stops at the first error and returns it with its line
/// number: "line 3: text: expected a string". Holds one row at a time.
Result<void> for_each_row(const std::function<Result<std::string>(const json::Value& row)>& row);

/// A required string member of a row; kInvalid naming it otherwise.
Result<std::string_view> string_member(const json::Value& row, std::string_view name);

/// Prints a line to standard error, with '?' for control characters: a name out of a file moves no
/// cursor.
void print_line(std::string_view line);

/// Prints lines to standard output in that way.
void print_tables(std::string_view text);

/// Prints "signalbox: <message>" so and returns kExitFailure.
int report(const Error& error);

}  // namespace signalbox::tools
