#pragma once
// Personal data out of what a request says, as edits of the client's bytes.

#include <span>
#include <string>
#include <vector>

#include "router/config/plugins.h"
#include "router/safety/pii/mask.h"
#include "router/signals/pii_finder.h"
#include "router/splice/edit.h"

namespace signalbox::plugins {

struct Masked {
  json::Document body;           // the client's, with placeholders
  std::vector<pii::Mask> masks;  // empty: nothing was found, and `body` is as it was
};

/// Whether rules can check every type that the plugin masks, so that no model is asked.
bool needs_no_model(const config::PiiMaskPlugin& plugin);

/// Masks what the finder finds from `threshold` on in what the messages say and what is attached to
/// them (api/words); not in labels, names of functions, and keys. Errors: the model's, unless the
/// plugin is content with rules; kTooLarge where the model cannot see all, likewise.
Result<Masked> mask_request(const config::PiiMaskPlugin& plugin, const signals::PiiFinder& finder,
                            double threshold, signals::Inputs& inputs);

}  // namespace signalbox::plugins
