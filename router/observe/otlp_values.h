#pragma once
// The messages that all exports have in common: attributes, and the sender.

#include <string>
#include <string_view>

#include "base/protobuf.h"
#include "router/observe/otlp.h"
#include "router/observe/spans.h"

namespace signalbox::observe {

/// A KeyValue.
protobuf::Writer otlp_attribute(std::string_view key, const Span::Value& value);
/// A Resource.
protobuf::Writer otlp_resource(const Resource& resource);
/// An InstrumentationScope.
protobuf::Writer otlp_scope();

}  // namespace signalbox::observe
