#pragma once
// Reads every number of an export of metrics, and of the text of /metrics, as one mapping, so that
// tests can compare the two. tests/e2e decodes exports with protobufjs, which shows that others can
// read them, too.

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/router/observe/otlp_read.h"

namespace signalbox::test {

struct ReadMetrics {
  std::map<std::string, std::string> resource;  // values in their encoded form
  std::set<std::string> names, units;           // as they were sent; a unit behind its name
  std::map<std::string, double> values;         // by the line of /metrics
  std::set<uint64_t> began_ns, at_ns;           // of all points
};

/// The name that Prometheus makes of one.
inline std::string in_prometheus(std::string name, std::string_view unit) {
  const bool dotted = name.find('.') != std::string::npos;
  std::replace(name.begin(), name.end(), '.', '_');
  return dotted && unit == "s" ? name + "_seconds" : name;
}

inline std::string line_of(const std::string& name, std::map<std::string, std::string> labels) {
  std::string out;
  for (const auto& [label, value] : labels)
    out += (out.empty() ? "" : ",") + label + "=\"" + value + "\"";
  return out.empty() ? name : name + "{" + out + "}";
}

inline std::vector<uint64_t> packed(std::string_view bytes) {
  std::vector<uint64_t> out(bytes.size() / 8);
  for (size_t at = 0; at < out.size() * 8; ++at)
    out[at / 8] |= uint64_t{static_cast<unsigned char>(bytes[at])} << (at % 8 * 8);
  return out;
}

inline std::string number(double value) {
  if (value == std::numeric_limits<double>::infinity()) return "+Inf";
  std::ostringstream out;
  out.precision(17);
  out << value;
  return out.str();
}

/// A data point of a number or of a histogram.
inline void read_point(std::string_view message, bool is_histogram, const std::string& name,
                       ReadMetrics& out) {
  std::map<std::string, std::string> labels;
  std::vector<uint64_t> counts, bounds;
  double value = 0;
  uint64_t total = 0;
  each_field(message, [&](const protobuf::Field& field) {
    const uint32_t at = field.number();
    if (at == 2) out.began_ns.insert(field.fixed64().value());
    if (at == 3) out.at_ns.insert(field.fixed64().value());
    if (at == 4 && is_histogram) total = field.fixed64().value();
    if (at == (is_histogram ? 5 : 4)) value = std::bit_cast<double>(field.fixed64().value());
    if (at == 6) counts = packed(field.bytes().value());
    if (at == 7 && is_histogram) bounds = packed(field.bytes().value());
    if (at != (is_histogram ? 9 : 7)) return;
    std::map<std::string, std::string> one;
    read_attribute(field.bytes().value(), one);
    std::string label = one.begin()->first;
    std::replace(label.begin(), label.end(), '.', '_');
    labels[label] = one.begin()->second.substr(2);  // behind the head of a short text
  });
  if (!is_histogram) {
    out.values[line_of(name, labels)] = value;
    return;
  }
  out.values[line_of(name + "_sum", labels)] = value;
  out.values[line_of(name + "_count", labels)] = static_cast<double>(total);
  uint64_t below = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    auto with = labels;
    with["le"] = number(i < bounds.size() ? std::bit_cast<double>(bounds[i])
                                          : std::numeric_limits<double>::infinity());
    out.values[line_of(name + "_bucket", with)] = static_cast<double>(below += counts[i]);
  }
}

inline void read_metric(std::string_view message, ReadMetrics& out) {
  std::string name, unit;
  each_field(message, [&](const protobuf::Field& field) {
    if (field.number() == 1) name = field.bytes().value();
    if (field.number() == 3) unit = field.bytes().value();
  });
  out.names.insert(name);
  out.units.insert(name + " " + unit);
  each_field(message, [&](const protobuf::Field& field) {
    if (field.number() < 5) return;
    each_field(field.bytes().value(), [&](const protobuf::Field& point) {
      if (point.number() == 1)
        read_point(point.bytes().value(), field.number() == 9, in_prometheus(name, unit), out);
    });
  });
}

/// Adds what one message has.
inline void read_metrics(std::string_view body, ReadMetrics& out) {
  each_field(body, [&](const protobuf::Field& resource_metrics) {
    each_field(resource_metrics.bytes().value(), [&](const protobuf::Field& part) {
      each_field(part.bytes().value(), [&](const protobuf::Field& inner) {
        if (part.number() == 1) read_attribute(inner.bytes().value(), out.resource);
        if (part.number() == 2 && inner.number() == 2) read_metric(inner.bytes().value(), out);
      });
    });
  });
}

/// The numbers of a text of /metrics without labels that are empty. Label values have no quotes and
/// no commas here.
inline std::map<std::string, double> read_text(const std::string& text) {
  std::map<std::string, double> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    const size_t space = line.rfind(' ');
    const size_t brace = std::min(line.find('{'), space);
    std::map<std::string, std::string> labels;
    for (size_t at = brace + 1; at < space && line[at] != '}';) {
      const size_t quote = line.find('"', at), end = line.find('"', quote + 1);
      const std::string name = line.substr(at, quote - at - 1);
      std::string value = line.substr(quote + 1, end - quote - 1);
      if (name == "le" && value != "+Inf") value = number(std::strtod(value.c_str(), nullptr));
      if (!value.empty()) labels[name] = value;
      at = end + (line[end + 1] == ',' ? 2 : 1);
    }
    out[line_of(line.substr(0, brace), labels)] = std::strtod(line.c_str() + space + 1, nullptr);
  }
  return out;
}

}  // namespace signalbox::test
