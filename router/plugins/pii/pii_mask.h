#pragma once
// Masks personal data in the text of a request by edits of the client's bytes.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "router/config/plugins.h"
#include "router/safety/pii/mask.h"
#include "router/signals/pii_finder.h"
#include "router/splice/edit.h"

namespace signalbox::plugins {

struct Masked {
  json::Document body;                           // the chat completion with placeholders
  std::optional<request::NativeRequest> native;  // the same of the native form, if there is one
  std::vector<pii::Mask> masks;  // empty: nothing was found, and `body` is unchanged
};

/// `type` is in upper case.
bool masks_type(const config::PiiMaskPlugin& plugin, std::string_view type);

/// Returns whether rules can check every type that the plugin masks, so that no model needs to run.
bool needs_no_model(const config::PiiMaskPlugin& plugin);

/// Masks entities with a score of at least `threshold` in all texts of the request that are
/// maskable (see router/request/request_text.h). The native form of
/// the request is masked in the same way, with the same placeholders. Errors: those of the
/// model, and kTooLarge if the model cannot read all of the text; neither if the plugin's on_error
/// accepts rules instead.
Result<Masked> mask_request(const config::PiiMaskPlugin& plugin, const signals::PiiFinder& finder,
                            double threshold, signals::Inputs& inputs);

}  // namespace signalbox::plugins
