#pragma once
// Reads the parts of an exporter's messages that tests need. tests/e2e/traces.test.mjs decodes them
// with protobufjs, which shows that others can read them, too.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/protobuf.h"

namespace signalbox::test {

struct ReadSpan {
  std::string trace, id, parent, name, error;  // ids as hexadecimal digits
  uint64_t began_ns = 0, ended_ns = 0, kind = 0, status = 0;
  std::map<std::string, std::string> attributes;  // values in their encoded form
};

struct ReadExport {
  std::map<std::string, std::string> resource;
  std::vector<ReadSpan> spans;
};

/// Calls `visit` for each field. Throws if the message is invalid, which fails the test.
template <class Visit>
void each_field(std::string_view message, const Visit& visit) {
  protobuf::Reader reader(message);
  for (auto field = reader.next().value(); field; field = reader.next().value()) visit(*field);
}

inline std::string hex_of(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

inline void read_attribute(std::string_view message, std::map<std::string, std::string>& out) {
  std::string key, value;
  each_field(message, [&](const protobuf::Field& field) {
    (field.number() == 1 ? key : value) = field.bytes().value();
  });
  out[key] = value;
}

inline ReadSpan read_span(std::string_view message) {
  ReadSpan out;
  each_field(message, [&](const protobuf::Field& field) {
    switch (field.number()) {
      case 1:
        out.trace = hex_of(field.bytes().value());
        break;
      case 2:
        out.id = hex_of(field.bytes().value());
        break;
      case 4:
        out.parent = hex_of(field.bytes().value());
        break;
      case 5:
        out.name = field.bytes().value();
        break;
      case 6:
        out.kind = field.varint().value();
        break;
      case 7:
        out.began_ns = field.fixed64().value();
        break;
      case 8:
        out.ended_ns = field.fixed64().value();
        break;
      case 9:
        read_attribute(field.bytes().value(), out.attributes);
        break;
      case 15:
        each_field(field.bytes().value(), [&](const protobuf::Field& of) {
          if (of.number() == 2) out.error = of.bytes().value();
          if (of.number() == 3) out.status = of.varint().value();
        });
        break;
      default:
        break;
    }
  });
  return out;
}

inline ReadExport read_export(std::string_view body) {
  ReadExport out;
  each_field(body, [&](const protobuf::Field& resource_spans) {
    each_field(resource_spans.bytes().value(), [&](const protobuf::Field& part) {
      each_field(part.bytes().value(), [&](const protobuf::Field& inner) {
        if (part.number() == 1) read_attribute(inner.bytes().value(), out.resource);
        if (part.number() == 2 && inner.number() == 2)
          out.spans.push_back(read_span(inner.bytes().value()));
      });
    });
  });
  return out;
}

}  // namespace signalbox::test
