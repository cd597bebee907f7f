#pragma once
// The longer ones of `global.services`.

#include "router/config/section.h"

namespace signalbox::config {

const Section<Observability>& observability_section();  // observability.cc
const Section<Authz>& authz_section();                  // access.cc
const Section<RateLimit>& ratelimit_section();          // access.cc

}  // namespace signalbox::config
