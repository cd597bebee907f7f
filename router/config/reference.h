#pragma once
// The format as a page for people: a table a section, made of the schema that editors read, so of
// the tables that the reader walks.

#include <string>

namespace signalbox::config {

/// Markdown: every key with what it takes and what it is for.
std::string reference();

}  // namespace signalbox::config
