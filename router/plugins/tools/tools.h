#pragma once
// Which of the client's tools a request goes on with.

#include "router/config/config.h"
#include "router/plugins/tools/tool_selection.h"
#include "router/splice/object_editor.h"

namespace signalbox::plugins {

/// none: all tools go, with what chooses among them. filtered: those of allow_tools stay (all,
/// where that is empty) that are not among block_tools; a tool goes by its name, one that the
/// server brings by its type. A choice of a tool that has gone goes too. `functions`, the older
/// form, the same. Lists that were set before are left alone.
void filter_tools(const config::ToolsPlugin& plugin, splice::ObjectEditor& body);

/// `tools` become those that were chosen, each in its own bytes, those that were added behind them;
/// nothing changes where all stay and none is added. Without any the list goes, and what chooses
/// among it.
void put_chosen_tools(const ToolChoice& choice, splice::ObjectEditor& body);

}  // namespace signalbox::plugins
