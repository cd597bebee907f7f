// Writes the SVG directly: a grid, a diagonal, a line per model, and bars below. The viewer's light
// or dark setting selects the colours. The background is painted, so viewers without that setting
// show the light colours.

#include "tools/eval/reliability.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace signalbox::tools {
namespace {

constexpr size_t kNameMax = 28;  // code points of a model's name

// The positions of the square diagram and of the strip of bars below it.
constexpr double kLeft = 64, kTop = 56, kSide = 340;
constexpr double kLegend = 21;
constexpr double kBarsTop = kTop + kSide + 16, kBarsHeight = 56;
constexpr double kWidth = kLeft + kSide + 24, kHeight = kBarsTop + kBarsHeight + 44;

constexpr const char* kStyle = R"(<style>
  text { font: 12px sans-serif; fill: #24292f; }
  .ground { fill: #ffffff; }
  .grid { stroke: #d0d7de; }
  .even { stroke: #24292f; stroke-dasharray: 4 4; }
  .first { fill: #0969da; }
  .second { fill: #bc4c00; }
  .first-line { stroke: #0969da; stroke-width: 1.5; fill: none; }
  .second-line { stroke: #bc4c00; stroke-width: 1.5; fill: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .ground { fill: #0d1117; }
    .grid { stroke: #3d444d; }
    .even { stroke: #e6edf3; }
    .first { fill: #58a6ff; }
    .second { fill: #f0883e; }
    .first-line { stroke: #58a6ff; }
    .second-line { stroke: #f0883e; }
  }
</style>
)";

double across(double share) {
  return kLeft + kSide * share;
}
double up(double share) {
  return kTop + kSide * (1 - share);
}

// Escapes text for SVG. If the text is too long, keeps its end, because the start is mostly
// folders.
std::string escaped(std::string_view text) {
  size_t skipped = utf8::count(text);
  skipped -= std::min(skipped, kNameMax);
  std::string out = skipped > 0 ? "\u2026" : "";
  for (size_t i = 0; i < text.size();) {
    const auto [point, bytes] = utf8::decode(text, i);
    i += bytes;
    if (skipped > 0) {
      --skipped;
    } else if (point == '&') {
      out += "&amp;";
    } else if (point == '<') {
      out += "&lt;";
    } else {
      utf8::append(out, point < 0x20 ? U'?' : point);
    }
  }
  return out;
}

std::string text(double x, double y, const char* anchor, std::string_view what) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     what);
}

std::string line(std::string_view style, double x1, double y1, double x2, double y2) {
  return fmt::format(
      "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", style, x1,
      y1, x2, y2);
}

std::string frame() {
  std::string out;
  for (int i = 0; i <= 5; ++i) {
    const double share = i / 5.0;
    out += line("grid", across(share), up(0), across(share), up(1));
    out += line("grid", across(0), up(share), across(1), up(share));
    out += text(kLeft - 8, up(share) + 4, "end", fmt::format("{:.1f}", share));
    out += text(across(share), kBarsTop + kBarsHeight + 16, "middle", fmt::format("{:.1f}", share));
  }
  out += line("even", across(0), up(0), across(1), up(1));
  out += text(across(0.5), kHeight - 8, "middle", "score of the answer");
  out += fmt::format(
      "<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\">share of right "
      "answers</text>\n",
      up(0.5));
  out += text(kLeft - 8, kBarsTop + kBarsHeight, "end", "rows");
  return out;
}

std::string curve(const Quality& quality, const char* style) {
  const std::string line_style = fmt::format("{}-line", style);
  std::string points, marks;
  for (const Quality::Bin& bin : quality.bins) {
    if (bin.rows == 0) continue;
    const auto rows = static_cast<double>(bin.rows);
    const double x = across(bin.scores / rows), y = up(static_cast<double>(bin.hits) / rows);
    const Interval interval = wilson(bin.hits, bin.rows);
    points += fmt::format("{:.1f},{:.1f} ", x, y);
    marks += line(line_style, x, up(interval.low), x, up(interval.high));
    marks +=
        fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>\n", style, x, y);
  }
  return fmt::format("<polyline class=\"{}\" points=\"{}\"/>\n", line_style, points) + marks;
}

// In each bin, the bars of several evaluations stand next to each other.
std::string bars(const Quality& quality, const char* style, double most, size_t place, size_t of) {
  std::string out;
  const double bin_width = kSide / static_cast<double>(quality.bins.size());
  const double width = (bin_width - 2) / static_cast<double>(of);
  for (size_t i = 0; i < quality.bins.size(); ++i) {
    const double height = kBarsHeight * static_cast<double>(quality.bins[i].rows) / most;
    if (height == 0) continue;
    const double x =
        kLeft + bin_width * static_cast<double>(i) + 1 + width * static_cast<double>(place);
    out += fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
        style, x, kBarsTop + kBarsHeight - height, width, height);
  }
  return out;
}

}  // namespace

std::string reliability_svg(std::span<const Evaluated> evaluations) {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\">\n<title>Reliability diagram</title>\n{2}",
      kWidth, kHeight, kStyle);
  out += "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n" + frame();
  int64_t most = 1;
  for (const Evaluated& each : evaluations)
    most = std::max(most, std::ranges::max(each.quality->bins, {}, &Quality::Bin::rows).rows);
  for (size_t i = 0; i < evaluations.size(); ++i) {
    const Evaluated& each = evaluations[i];
    const char* style = i == 0 ? "first" : "second";
    out += bars(*each.quality, style, static_cast<double>(most), i, evaluations.size());
    out += curve(*each.quality, style);
    const double y = 20 + 18 * static_cast<double>(i);
    out += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>\n", style,
                       kLegend, y - 4);
    out += text(kLegend + 11, y, "start",
                fmt::format("{} in {}: calibration error {:.4f}", escaped(each.model), each.dtype,
                            each.quality->calibration_error));
  }
  return out + "</svg>\n";
}

}  // namespace signalbox::tools
