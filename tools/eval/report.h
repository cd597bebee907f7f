#pragma once
// Writes an evaluation as JSON for programs and as tables for the terminal.

#include <string>
#include <vector>

#include "base/json_writer.h"
#include "tools/eval/evaluation.h"

namespace signalbox::tools {

/// Writes members into an object that the caller has begun.
void write_json(const Evaluated& evaluated, const LabelledRows& rows, json::Writer& out);

/// Returns tables.
std::string to_tables(const Evaluated& evaluated, const LabelledRows& rows);

/// Writes "name": value and "name_95": [low, high].
void write_figure(std::string_view name, double value, const Interval& interval, json::Writer& out);

}  // namespace signalbox::tools
