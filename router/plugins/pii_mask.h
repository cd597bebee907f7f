#pragma once
// Personal data out of a request: every text of its messages, as edits of the client's bytes.

#include <span>
#include <string>
#include <vector>

#include "router/config/plugins.h"
#include "router/guard/pii_mask.h"
#include "router/plugins/edit.h"
#include "router/signals/pii_finder.h"

namespace signalbox::router {

struct Masked {
  json::Document body;      // the client's, with placeholders
  std::vector<Mask> masks;  // empty: nothing was found, and `body` is as it was
};

/// Whether rules can check every type that the plugin masks, so that a model would add nothing.
bool needs_no_model(const config::PiiMaskPlugin& plugin);

/// Masks what the finder finds from `threshold` on in the strings of `messages` and `prediction`:
/// contents and their parts, calls of tools and their results; not in roles, ids, names of
/// functions, or addresses and data of images. Errors: the model's, unless the plugin is content
/// with rules; kTooLarge where the model cannot see all, likewise.
Result<Masked> mask_request(const config::PiiMaskPlugin& plugin, const PiiFinder& finder,
                            double threshold, Inputs& inputs);

}  // namespace signalbox::router
