#pragma once
// Which of the client's tools a request goes on with.

#include "router/config/config.h"
#include "router/plugins/object_editor.h"

namespace signalbox::router {

/// none: all tools go, with what chooses among them. filtered: those of allow_tools stay (all,
/// where that is empty) that are not among block_tools; a tool goes by its name, one that the
/// server brings by its type. A choice of a tool that has gone goes too. `functions`, the older
/// form, the same.
void filter_tools(const config::ToolsPlugin& plugin, ObjectEditor& body);

}  // namespace signalbox::router
