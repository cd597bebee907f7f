#pragma once
// Writes the selected tools into a request.

#include "router/config/config.h"
#include "router/plugins/tools/tool_selection.h"
#include "router/splice/object_editor.h"

namespace signalbox::plugins {

/// none: removes all tools and the members that choose among them. filtered: keeps the tools that
/// allow_tools contains (all, if it is empty) and block_tools does not. A tool is identified by its
/// name, with that of its namespace if it has one
/// ("agents__spawn"); one that the server provides, by its type. A choice of a removed tool is
/// removed too. The older member `functions` is treated in the same way. A list that was already
/// set is not changed.
void filter_tools(const config::ToolsPlugin& plugin, splice::ObjectEditor& body);

/// True if the model gets no tool at all.
bool removes_tools(const config::ToolsPlugin& plugin);

/// True if the model gets the conversation without the calls of tools in it, too.
bool strips_tools(const config::Decision& decision);

/// Replaces `tools` by the chosen ones, each with its original bytes, followed by the added ones.
/// Changes nothing if all stay and none is added. If no tool is left, removes the list and the
/// members that choose among it.
void put_chosen_tools(const ToolSelection& selection, splice::ObjectEditor& body);

/// The same for the native form of `request`, whose tools were chosen from its chat completion.
/// Removes the tools of the names that were not chosen; tools without a chat completion's form
/// stay.
void put_chosen_tools(const ToolSelection& selection, const request::ChatRequest& request,
                      splice::ObjectEditor& body);

}  // namespace signalbox::plugins
