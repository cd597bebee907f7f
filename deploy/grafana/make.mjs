// Writes signalbox.json, the dashboard that Grafana imports. Here it is rows of panels with one line per query, so that a change
// is easy to review. Both files are committed, and tests/deploy fails if they differ.
//
// usage: node deploy/grafana/make.mjs [FILE]

import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

// Filters of a series by the selectors at the top of the page.
const kHere = 'job=~"$job", instance=~"$instance"';
const kModel = `${kHere}, model=~"$model"`;
const kDecision = `${kModel}, decision=~"$decision"`;

const rate = (name, labels = kHere) => `rate(${name}{${labels}}[$__rate_interval])`;
const sumBy = (by, what) => `sum by (${by}) (${what})`;
const quantile = (q, name, by = [], labels = kHere) =>
  `histogram_quantile(${q}, ${sumBy(["le", ...by].join(", "), rate(`${name}_bucket`, labels))})`;
const percentiles = (name) => [0.5, 0.95, 0.99].map((q) => [quantile(q, name), `p${q * 100}`]);
const orZero = (what) => `(${what}) or vector(0)`;
const overRange = (name, labels, by) => sumBy(by, `increase(${name}{${labels}}[$__range])`);

const graph = (title, unit, queries, more = {}) => ({ title, unit, queries, type: "timeseries", width: 8, height: 8, ...more });
const number = (title, unit, query, more = {}) => ({ title, unit, queries: [[query, ""]], type: "stat", width: 4, height: 4, ...more });
const table = (title, queries) => ({ title, unit: "short", queries, type: "table", width: 24, height: 9 });

export const kRows = [
  ["Now", [
    number("Requests a second", "reqps", `sum(${rate("llm_model_requests_total", kDecision)})`),
    number("Answered with 5xx", "percentunit",
      `${orZero(`sum(${rate("llm_model_requests_total", `${kDecision}, status=~"5.."`)})`)} / sum(${rate("llm_model_requests_total", kDecision)})`,
      { red: 0.05 }),
    number("p95 of the decision", "s", quantile(0.95, "llm_model_routing_latency_seconds"), { red: 0.25 }),
    number("Requests in flight", "short", `sum(signalbox_requests_in_flight{${kHere}})`),
    number("Workers left out", "short", orZero(`sum(signalbox_worker_fit{${kModel}} == bool 0)`), { red: 1 }),
    number("Configuration refused", "short", `max(signalbox_config_refused{${kHere}})`, { red: 1 }),
  ]],
  ["Traffic", [
    graph("Requests by model", "reqps", [[sumBy("model", rate("llm_model_requests_total", kDecision)), "{{model}}"]], { stack: true }),
    graph("Requests by status", "reqps", [[sumBy("status", rate("llm_model_requests_total", kDecision)), "{{status}}"]], { stack: true }),
    graph("Errors by reason", "reqps", [[sumBy("reason", rate("llm_request_errors_total", kModel)), "{{reason}}"]]),
    graph("Decided without some signals", "reqps", [[sumBy("reason", rate("signalbox_degraded_total")), "{{reason}}"]]),
    graph("Refused before reading", "reqps", [[sumBy("reason", rate("signalbox_refused_total")), "full: {{reason}}"]]),
    graph("In flight", "short", [
      [`sum(signalbox_requests_in_flight{${kHere}})`, "requests"],
      [`sum(signalbox_connections{${kHere}})`, "connections"],
    ]),
  ]],
  ["Latency", [
    graph("From request to plan", "s", percentiles("llm_model_routing_latency_seconds")),
    graph("p95 of computing signals", "s", [[quantile(0.95, "llm_signal_extraction_latency_seconds", ["signal_type"]), "{{signal_type}}"]]),
    graph("Evaluation of the rules", "s", percentiles("llm_decision_evaluation_latency_seconds")),
    graph("p95 of the whole reply", "s", [[quantile(0.95, "llm_model_completion_latency_seconds", ["model"], kModel), "{{model}}"]]),
    graph("p95 to the first token of a stream", "s", [[quantile(0.95, "llm_model_ttft_seconds", ["model"], kModel), "{{model}}"]]),
    graph("p95 of a token after it", "s", [[quantile(0.95, "llm_model_tpot_seconds", ["model"], kModel), "{{model}}"]]),
  ]],
  ["Decisions and models", [
    graph("Decisions", "reqps", [[sumBy("decision_name", rate("llm_decision_match_total", `${kHere}, decision_name=~"$decision"`)), "{{decision_name}}"]], { stack: true }),
    graph("Mean confidence", "percentunit", [[
      `${sumBy("decision_name", rate("llm_decision_confidence_sum"))} / ${sumBy("decision_name", rate("llm_decision_confidence_count"))}`,
      "{{decision_name}}",
    ]]),
    graph("Signals that matched", "reqps", [[sumBy("signal_type, signal_name", rate("llm_signal_match_total")), "{{signal_type}} {{signal_name}}"]]),
    graph("Signals computed", "reqps", [[sumBy("signal_type", rate("llm_signal_extraction_total")), "{{signal_type}}"]]),
    graph("Signals that failed", "reqps", [[sumBy("signal_type", rate("signalbox_signal_errors_total")), "{{signal_type}}"]]),
    graph("Requests that the rules decided", "reqps", [[`sum(${rate("llm_decision_evaluation_total")})`, "decided"]]),
  ]],
  ["Costs", [
    graph("Cost an hour", "short", [[sumBy("model, currency", `3600 * ${rate("signalbox_cost_total", kDecision)}`), "{{model}} {{currency}}"]], { stack: true }),
    graph("Cost an hour, and on the default model alone", "short", [
      [sumBy("currency", `3600 * ${rate("signalbox_cost_total", kDecision)}`), "spent, {{currency}}"],
      [sumBy("currency", `3600 * ${rate("signalbox_cost_on_default_total", kDecision)}`), "default model, {{currency}}"],
    ]),
    graph("Tokens a second", "short", [[sumBy("kind", rate("signalbox_tokens_total", kDecision)), "{{kind}}"]], { stack: true }),
    number("Cost", "short", overRange("signalbox_cost_total", kDecision, "currency"), { legend: "{{currency}}", width: 6 }),
    number("Cost on the default model alone", "short", overRange("signalbox_cost_on_default_total", kDecision, "currency"), { legend: "{{currency}}", width: 6 }),
    number("Saved", "short",
      `${overRange("signalbox_cost_on_default_total", kDecision, "currency")} - ${overRange("signalbox_cost_total", kDecision, "currency")}`,
      { legend: "{{currency}}", width: 6 }),
    number("Replies that report their tokens", "percentunit",
      `sum(increase(signalbox_metered_replies_total{${kDecision}}[$__range])) / sum(increase(llm_model_requests_total{${kDecision}, status="200"}[$__range]))`,
      { width: 6 }),
    table("By model and decision, over the time shown", [
      [overRange("llm_model_requests_total", kDecision, "model, decision"), "requests"],
      [overRange("signalbox_tokens_total", kDecision, "model, decision"), "tokens"],
      [overRange("signalbox_cost_total", kDecision, "model, decision, currency"), "cost"],
      [overRange("signalbox_cost_on_default_total", kDecision, "model, decision, currency"), "on the default model"],
    ]),
  ]],
  ["Guards, personal data, attacks", [
    graph("Attacks refused", "reqps", [[sumBy("signal_name", rate("signalbox_jailbreak_blocked_total")), "{{signal_name}}"]]),
    graph("Refused for personal data", "reqps", [[sumBy("pii_type", rate("llm_pii_violations_total")), "{{pii_type}}"]]),
    graph("Replies that were checked", "reqps", [[sumBy("check, outcome", rate("signalbox_reply_guard_total")), "{{check}}: {{outcome}}"]]),
    graph("Time of all checks of a reply", "s", percentiles("llm_hallucination_detection_latency_seconds")),
    graph("Facts without a context to check them", "reqps", [[`sum(${rate("llm_unverified_factual_responses_total")})`, "replies"]]),
  ]],
  ["Response cache", [
    graph("Share answered from the cache", "percentunit", [[
      `sum(${rate("llm_cache_operations_total", `${kHere}, status=~"hit|near"`)}) / sum(${rate("llm_cache_operations_total")})`,
      "hits",
    ]]),
    graph("Lookups", "reqps", [[sumBy("status", rate("llm_cache_operations_total")), "{{status}}"]], { stack: true }),
    graph("Hits by decision", "reqps", [[sumBy("decision_name", rate("llm_cache_plugin_hits_total")), "{{decision_name}}"]]),
    graph("Time of a lookup", "s", percentiles("llm_cache_operation_duration_seconds")),
    graph("Answers in the cache", "short", [[sumBy("backend", `llm_cache_entries_total{${kHere}}`), "{{backend}}"]]),
    graph("Tokens that the cache saved", "short", [[`sum(${rate("signalbox_tokens_total", `${kDecision}, kind="repeated"`)})`, "tokens a second"]]),
  ]],
  ["Contexts", [
    graph("Contexts", "short", [[sumBy("level", `signalbox_contexts{${kHere}}`), "{{level}}"]]),
    graph("Context bytes", "bytes", [
      [sumBy("level", `signalbox_context_bytes{${kHere}}`), "{{level}}"],
      [`sum(signalbox_context_pinned_bytes{${kHere}})`, "pinned"],
    ]),
    graph("Context reads, by the level that had the context", "reqps", [[sumBy("level", rate("signalbox_context_reads_total")), "{{level}}"]]),
    graph("Context events", "reqps", [[sumBy("event", rate("signalbox_context_events_total")), "{{event}}"]]),
  ]],
  ["Workers", [
    graph("Workers in use", "short", [[sumBy("model", `signalbox_worker_fit{${kModel}}`), "{{model}}"]]),
    graph("Requests at a worker", "short", [[sumBy("model, worker", `signalbox_worker_requests{${kModel}}`), "{{model}} {{worker}}"]]),
    graph("Requests that wait for a worker", "short", [[sumBy("model", `signalbox_worker_queue_requests{${kModel}}`), "{{model}}"]]),
    graph("Requests at a model", "short", [[sumBy("model", `llm_model_inflight_requests{${kModel}}`), "{{model}}"]]),
    graph("Servers that failed", "reqps", [[sumBy("model, reason", rate("llm_request_errors_total", `${kModel}, reason=~"upstream_.*|timeout"`)), "{{model}}: {{reason}}"]]),
  ]],
  ["The router's own models", [
    graph("Requests that wait for a decision", "short", [[`sum by (instance) (signalbox_decision_queue_requests{${kHere}})`, "{{instance}}"]]),
    graph("Texts that wait", "short", [[sumBy("model", `signalbox_model_queue_requests{${kHere}}`), "{{model}}"]]),
    graph("Tokens that wait", "short", [[sumBy("model", `signalbox_model_queue_tokens{${kHere}}`), "{{model}}"]]),
    graph("Texts a second", "reqps", [[sumBy("model", rate("signalbox_model_pass_seconds_count")), "{{model}}"]]),
    graph("p95 of a text, its wait included", "s", [[quantile(0.95, "signalbox_model_pass_seconds", ["model"]), "{{model}}"]]),
    graph("Texts that failed", "reqps", [[orZero(`sum(${rate("signalbox_model_pass_errors_total")})`), "failed"]]),
  ]],
  ["Process", [
    graph("Processor", "percentunit", [[sumBy("instance", rate("process_cpu_seconds_total")), "{{instance}}"]]),
    graph("Memory", "bytes", [[`process_resident_memory_bytes{${kHere}}`, "{{instance}}"]]),
    graph("Connections of clients", "short", [[sumBy("instance", `signalbox_connections{${kHere}}`), "{{instance}}"]]),
    graph("Configurations", "short", [
      [sumBy("result", `increase(llm_config_updates_total{${kHere}}[$__rate_interval])`), "{{result}}"],
      [`max by (instance) (llm_config_active_version{${kHere}})`, "generation of {{instance}}"],
    ]),
    graph("Requests in traces", "reqps", [[sumBy("result", rate("signalbox_spans_total")), "{{result}}"]]),
    graph("Exports of traces", "short", [
      [`sum(increase(signalbox_span_retries_total{${kHere}}[$__rate_interval]))`, "exports tried again"],
      [`sum(increase(signalbox_spans_rejected_total{${kHere}}[$__rate_interval]))`, "spans left out by the collector"],
    ]),
    graph("Versions and replay records", "short", [
      [sumBy("version", `signalbox_build_info{${kHere}}`), "{{version}}"],
      [`sum(signalbox_replay_records{${kHere}})`, "records for replay"],
    ]),
  ]],
];

const kSource = { type: "prometheus", uid: "${datasource}" };

const choice = (name, label, query) => ({
  name, label, query, type: "query", datasource: kSource, definition: query, refresh: 2, sort: 1, multi: true, includeAll: true, allValue: ".*",
  current: { text: "All", value: "$__all" },
});

function panelOf(panel, id, x, y) {
  const steps = [{ color: "green", value: null }];
  if (panel.red !== undefined) steps.push({ color: "red", value: panel.red });
  const isTable = panel.type === "table";
  const out = {
    id, title: panel.title, type: panel.type, datasource: kSource, gridPos: { x, y, w: panel.width, h: panel.height },
    targets: panel.queries.map(([expr, legend], i) => ({
      refId: String.fromCharCode(65 + i), datasource: kSource, expr, legendFormat: panel.legend ?? legend,
      ...(isTable ? { format: "table", instant: true } : {}),
      ...(panel.type === "stat" ? { instant: true } : {}),
    })),
    fieldConfig: { defaults: { unit: panel.unit, min: 0, thresholds: { mode: "absolute", steps } }, overrides: [] },
    options: {},
  };
  if (panel.type === "timeseries") {
    const custom = { fillOpacity: 10, showPoints: "never", ...(panel.stack ? { stacking: { mode: "normal" } } : {}) };
    out.fieldConfig.defaults.custom = custom;
    out.options = { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi", sort: "desc" } };
  } else if (panel.type === "stat") {
    delete out.fieldConfig.defaults.min; // savings may be losses
    out.options = { reduceOptions: { calcs: ["lastNotNull"] }, colorMode: panel.red === undefined ? "none" : "value" };
  } else {
    out.transformations = [
      { id: "merge", options: {} },
      { id: "organize", options: { excludeByName: { Time: true }, renameByName: Object.fromEntries(panel.queries.map(([, name], i) => [`Value #${String.fromCharCode(65 + i)}`, name])) } },
    ];
  }
  return out;
}

export function dashboard() {
  const panels = [];
  let id = 0, y = 0;
  for (const [title, row] of kRows) {
    panels.push({ id: ++id, type: "row", title, collapsed: false, gridPos: { x: 0, y: y++, w: 24, h: 1 }, panels: [] });
    let x = 0, height = 0;
    for (const panel of row) {
      if (x + panel.width > 24) {
        y += height;
        x = height = 0;
      }
      panels.push(panelOf(panel, ++id, x, y));
      x += panel.width;
      height = Math.max(height, panel.height);
    }
    y += height;
  }
  return {
    uid: "signalbox", title: "Signalbox", tags: ["signalbox"], schemaVersion: 39, version: 1, editable: true, graphTooltip: 1, timezone: "",
    refresh: "30s", time: { from: "now-6h", to: "now" },
    templating: {
      list: [
        { name: "datasource", label: "Prometheus", type: "datasource", query: "prometheus", current: {} },
        choice("job", "Job", "label_values(signalbox_build_info, job)"),
        choice("instance", "Instance", 'label_values(signalbox_build_info{job=~"$job"}, instance)'),
        choice("model", "Model", 'label_values(llm_model_requests_total{job=~"$job"}, model)'),
        choice("decision", "Decision", 'label_values(llm_model_requests_total{job=~"$job"}, decision)'),
      ],
    },
    annotations: {
      list: [{
        name: "Configurations", datasource: kSource, enable: true, iconColor: "blue", titleFormat: "a configuration was taken up",
        expr: 'changes(llm_config_active_version{job=~"$job", instance=~"$instance"}[$__interval]) > 0',
      }],
    },
    panels,
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  writeFileSync(process.argv[2] ?? new URL("signalbox.json", import.meta.url), `${JSON.stringify(dashboard(), null, 1)}\n`);
}
