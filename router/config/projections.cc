// `routing.projections`: signals derived from others, and whether those exist.

#include <algorithm>
#include <set>

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

const Section<Partition>& partition_section() {
  using P = Partition;
  using Semantics = P::Semantics;
  static const Section<P> section{{
      required("name", text(&P::name), "of the partition"),
      optional("semantics",
               choice(&P::semantics, {{"exclusive", Semantics::kExclusive},
                                      {"softmax_exclusive", Semantics::kSoftmaxExclusive}}),
               "how the winner is found"),
      optional("temperature", number(&P::temperature), "of the softmax; 0 and less: 1"),
      required("members", texts(&P::members), "names of signals, one of which wins"),
      optional("default", string(&P::fallback), "who wins when none matches"),
  }};
  return section;
}

void check_input(Reader& reader, const yaml::Node& node, ScoreInput& out) {
  const auto missing = [&](std::string_view key) {
    if (node.find(key) != nullptr) return;
    reader.at_key(key, [&] {
      reader.error(node.line, fmt::format("missing; an input of type {} needs it", out.type));
    });
  };
  if (out.type.empty()) return;
  if (out.type == "kb_metric") {
    missing("kb");
    missing("metric");
  } else {
    missing("name");
  }
}

const Section<ScoreInput>& input_section() {
  using I = ScoreInput;
  using Source = I::Source;
  static const Section<I> section{
      {
          required("type", text(&I::type), "of the signal, or kb_metric"),
          optional("name", text(&I::name), "of the signal"),
          optional("kb", text(&I::kb), "of kb_metric: the knowledge base"),
          optional("metric", text(&I::metric), "of kb_metric: one of its metrics"),
          optional("weight", number(&I::weight), "in the sum; may be negative"),
          optional("value_source",
                   choice(&I::value_source, {{"binary", Source::kBinary},
                                             {"confidence", Source::kConfidence},
                                             {"score", Source::kScore},
                                             {"raw", Source::kRaw}}),
                   "what is added"),
          optional("match", number(&I::match), "of binary: when it matches"),
          optional("miss", number(&I::miss), "of binary: when it does not"),
      },
      check_input};
  return section;
}

const Section<Score>& score_section() {
  static const Section<Score> section{{
      required("name", text(&Score::name), "what mappings call it"),
      optional("method", word(&Score::method, {"weighted_sum"}), "how inputs become one number"),
      required("inputs", list(&Score::inputs, input_section), "what is added up"),
  }};
  return section;
}

const Section<Mapping::Calibration>& calibration_section() {
  using C = Mapping::Calibration;
  static const Section<C> section{{
      optional("method", word(&C::method, {"sigmoid_distance"}), "how distance becomes confidence"),
      optional("slope", number(&C::slope), "of the sigmoid"),
  }};
  return section;
}

const Section<Mapping::Output>& output_section() {
  using O = Mapping::Output;
  // The bounds stand beside the name.
  const auto bound = [](const Value<Predicate>& value) { return inside(&O::range, value); };
  static const Section<O> section{{
      required("name", text(&O::name), "what conditions on projection call it"),
      optional("gt", bound(number(&Predicate::gt)), "the score is greater"),
      optional("gte", bound(number(&Predicate::gte)), "the score is at least"),
      optional("lt", bound(number(&Predicate::lt)), "the score is less"),
      optional("lte", bound(number(&Predicate::lte)), "the score is at most"),
  }};
  return section;
}

const Section<Mapping>& mapping_section() {
  using M = Mapping;
  using Method = M::Method;
  static const Section<M> section{{
      required("name", text(&M::name), "of the mapping"),
      required("source", text(&M::source), "one of scores"),
      optional("method",
               choice(&M::method, {{"threshold_bands", Method::kThresholdBands},
                                   {"multi_emit", Method::kMultiEmit}}),
               "the first output whose bounds hold, or all of them"),
      optional("calibration", object(&M::calibration, calibration_section),
               "of the outputs' confidence"),
      required("outputs", list(&M::outputs, output_section), "names of ranges"),
  }};
  return section;
}

void check_projections(Reader& reader, const yaml::Node& node, Projections& out) {
  std::vector<std::string_view> known;
  for (const Score& score : out.scores) known.push_back(score.name);
  for (size_t i = 0; i < out.mappings.size(); ++i) {
    const std::string& source = out.mappings[i].source;
    if (source.empty() || std::find(known.begin(), known.end(), source) != known.end()) continue;
    reader.at_key("mappings", [&] {
      reader.at_index(i, [&] {
        reader.at_key("source", [&] {
          reader.error(node.find("mappings")->items[i].find("source")->line,
                       fmt::format("unknown score \"{}\"{}", source, suggestion(source, known)));
        });
      });
    });
  }
}

}  // namespace

const Section<Projections>& projections_section() {
  static const Section<Projections> section{
      {
          optional("partitions", named_list(&Projections::partitions, partition_section),
                   "signals of which one wins"),
          optional("scores", named_list(&Projections::scores, score_section), "sums of signals"),
          optional("mappings", named_list(&Projections::mappings, mapping_section),
                   "named ranges of scores"),
      },
      check_projections};
  return section;
}

}  // namespace signalbox::config
