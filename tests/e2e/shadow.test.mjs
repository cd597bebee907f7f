// Tests shadows: another model gets a share of a decision's requests, and the two answers are compared. The client's
// answer stays the same whatever the shadow does. Every test waits for the figure that must appear.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, beforeEach, test } from "node:test";

import { Collector } from "./collector.mjs";
import { Daemon, freePorts } from "./daemon.mjs";
import { ScriptedUpstream, completion, streamed } from "./upstream.mjs";
import { until } from "./until.mjs";

const kUsage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };
const kCostOfLarge = (1000 * 10 + 100 * 20) / 1e6;
const kCostOfSmall = (1000 * 1 + 100 * 2) / 1e6;
const kRiver = "The Danube flows into the Black Sea.";

let large, small, embedder, judge, collector, daemon;

const decision = (name, arms, more = "", comparison = "{}", others = "") => `
    - name: ${name}
      priority: 9
      rules: {type: keyword, name: ${name}}
      modelRefs: [{model: large}]
      plugins:
        - {type: router_replay, configuration: {capture_response_body: ${name === "noted"}}}${others}
        - type: shadow_dispatch
          configuration:
            sample_rate: 1
            arms: [${arms}]
            comparison: ${comparison}${more}`;

const names = ["plain", "judged", "dead", "hasty", "never", "few", "brief", "kept", "noted", "fixed", "two", "worn", "narrow", "silent", "garbled", "locked"];

const configuration = (deadPort, drain = "10s") => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: large}
  models:
    - name: large
      pricing: {prompt_per_1m: 10, completion_per_1m: 20}
      backend_refs: [{endpoint: "127.0.0.1:${large.port}"}]
    - name: small
      pricing: {prompt_per_1m: 1, completion_per_1m: 2}
      backend_refs: [{endpoint: "127.0.0.1:${small.port}"}]
    - {name: dead, backend_refs: [{endpoint: "127.0.0.1:${deadPort}"}]}
    - name: pair
      reliability: {consecutive_5xx: 1}
      backend_refs: [{name: p1, endpoint: "127.0.0.1:${small.port}"}, {name: p2, endpoint: "127.0.0.1:${small.port}"}]
    - {name: narrow, reliability: {max_in_flight: 1}, backend_refs: [{endpoint: "127.0.0.1:${small.port}"}]}
    - {name: locked, backend_refs: [{name: node-9, api_key: sk-wrong, endpoint: "127.0.0.1:${small.port}"}]}
routing:
  signals:
    keywords:
${names.map((name) => `      - {name: ${name}, keywords: [${name}]}`).join("\n")}
  decisions:${[
    decision("plain", "{model: small}"),
    decision("judged", "{model: small}", "", "{judge: referee}"),
    decision("dead", "{model: dead}"),
    decision("hasty", "{model: small, timeout: 200ms}"),
    decision("never", "{model: small}").replace("sample_rate: 1", "sample_rate: 0"),
    decision("few", "{model: small}", "\n            limits: {max_concurrent_shadow: 1}"),
    decision("brief", "{model: small}", "\n            limits: {max_response_bytes: 20}"),
    decision("kept", "{model: small}", "", "{}", "\n        - {type: response_cache, configuration: {mode: exact}}"),
    decision("noted", "{name: trial, model: small}"),
    decision("fixed", "{model: small}", "", "{}", "\n        - {type: fast_response, configuration: {message: Fixed.}}"),
    decision("two", "{model: small}, {model: dead}, {model: large}"),
    decision("worn", "{model: pair, timeout: 100ms}"),
    decision("narrow", "{model: narrow}"),
    decision("silent", "{model: small}"),
    decision("garbled", "{model: small}"),
    decision("locked", "{model: locked}"),
  ].join("")}
global:
  spending: {budgets: [{name: all, by: user, amount: 1000}]}
  model_catalog:
    embeddings: {semantic: {endpoint: {base_url: "http://127.0.0.1:${embedder.port}/v1", model: e, dimensions: 2}}}
    external:
      - {name: referee, model_role: judge, llm_endpoint: {address: 127.0.0.1, port: ${judge.port}, protocol: http}, llm_model_name: referee-1, llm_timeout_seconds: 60}
  services:
    http: {drain_timeout: ${drain}}
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
    observability: {tracing: {enabled: true, exporter: {endpoint: "127.0.0.1:${collector.port}", insecure: true}}}
`;

const answers = (content) => (received) =>
  received.stream ? streamed([{ role: "assistant", content: "" }, ...content.split(/(?= )/).map((text) => ({ content: text }))], "stop", kUsage)
    : completion({ content }, "stop", kUsage);

/// Fields of a client that a server may get which the client or the decision chose.
const kSecrets = { authorization: "Bearer s1", "x-api-key": "s2", "openai-organization": "s3", "x-tenant": "s4" };

/// Returns a promise and the function that fulfils it.
function gate() {
  let open;
  const opened = new Promise((done) => (open = done));
  return { opened, open };
}

before(async () => {
  [large, small, embedder, judge] = await Promise.all([1, 2, 3, 4].map(() => ScriptedUpstream.start()));
  collector = await Collector.start();
  // The direction of a text is that of its first word, so a test chooses the cosine by the words.
  embedder.answer = (received) => {
    const vector = (text) => (text.startsWith("The") ? [1, 0] : text.startsWith("A") ? [0.6, 0.8] : [0, 1]);
    const data = [received.input].flat().map((text, index) => ({ object: "embedding", index, embedding: vector(text) }));
    return { body: { object: "list", model: "e", data, usage: { prompt_tokens: 1, total_tokens: 1 } } };
  };
  daemon = await Daemon.start(configuration((await freePorts(1))[0]));
});

after(async () => {
  await daemon?.stop();
  await Promise.all([large, small, embedder, judge, collector].map((each) => each?.stop()));
});

beforeEach(() => {
  large.answer = answers(kRiver);
  small.answer = answers(kRiver);
});

async function ask(text, more = {}, of = daemon) {
  const reply = await fetch(`${of.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "x-authz-user-id": "ann", ...kSecrets },
    body: JSON.stringify({ model: "auto", messages: [{ role: "user", content: text }], ...more }),
  });
  const body = await reply.text();
  assert.equal(reply.status, 200, body);
  return { body, replay: reply.headers.get("x-vsr-replay-id") };
}

/// The number of shadows of a decision with an outcome.
async function shadows(decision, outcome, of = daemon) {
  const text = await (await fetch(`${of.managementUrl}/metrics`)).text();
  const line = text.match(new RegExp(`^signalbox_shadow_total\\{decision="${decision}",model="[^"]*",outcome="${outcome}"\\} (.*)$`, "m"));
  return line ? Number(line[1]) : 0;
}

const seen = (decision, outcome, count = 1) => until(async () => (await shadows(decision, outcome)) >= count);

async function spent(decision) {
  const report = await (await fetch(`${daemon.managementUrl}/api/v1/spending?by=user`)).json();
  assert.ok(report.shadows, JSON.stringify(report));
  return { ...report, shadow: report.shadows.find((each) => each.decision === decision) };
}
const near = (value, expected) => assert.ok(Math.abs(value - expected) < 1e-9, `${value}, expected ${expected}`);

test("answers that agree, and what the cheaper model would have saved", async () => {
  const { body } = await ask("plain question", { store: true });
  assert.equal(JSON.parse(body).choices[0].message.content, kRiver);
  await seen("plain", "agreed");
  assert.equal(small.received.model, "small");
  assert.equal(small.received.stream, undefined);
  assert.equal(large.received.store, true);
  assert.equal(small.received.store, undefined);
  for (const [name, value] of Object.entries(kSecrets)) {
    assert.equal(large.headers[name], value);
    assert.equal(small.headers[name], undefined, name);
  }
  const { shadow, lines } = await spent("plain");
  assert.deepEqual([shadow.model, shadow.shadow, shadow.pairs, shadow.compared, shadow.agreed], ["large", "small", 1, 1, 1]);
  near(shadow.similarity, 1);
  near(shadow.cost, kCostOfLarge);
  near(shadow.shadow_cost, kCostOfSmall);
  near(shadow.saved, kCostOfLarge - kCostOfSmall);
  near(lines.find((each) => each.user === "ann").cost, kCostOfLarge);
});

test("answers that differ, from a stream", async () => {
  small.answer = answers("A river in Europe.");
  const { body } = await ask("plain stream", { stream: true, stream_options: { include_usage: true } });
  assert.ok(body.endsWith("data: [DONE]\n\n"), body);
  await seen("plain", "differed");
  const { shadow } = await spent("plain");
  assert.deepEqual([shadow.pairs, shadow.agreed], [2, 1]);
  assert.ok(Math.abs(shadow.similarity - 0.8) < 1e-6); // of single precision
});

test("a judge finds that answers agree, differ or contradict each other", async () => {
  for (const [label, outcome] of [["agree", "agreed"], ["differ", "differed"], ["contradict", "contradicted"]]) {
    small.answer = answers(`Nothing like that: ${label}.`);
    judge.answer = (received) => {
      assert.ok(received.messages[1].content.includes(kRiver) && received.messages[1].content.includes(label));
      return completion({ content: label });
    };
    await ask("judged question");
    await seen("judged", outcome);
  }
  const { shadow } = await spent("judged");
  assert.deepEqual([shadow.compared, shadow.agreed, shadow.contradicted], [3, 1, 1]);
});

test("a judge that does not answer leaves the pair without a comparison", async () => {
  judge.answer = () => ({ status: 500, body: {} });
  small.answer = answers("Another text.");
  await ask("judged question");
  await seen("judged", "not_compared");
  const { shadow } = await spent("judged");
  assert.deepEqual([shadow.pairs, shadow.compared], [4, 3]);
});

test("a dead server, an error, garbage and an empty answer are the shadow's failures only", async () => {
  await ask("dead question");
  await seen("dead", "failed");
  const replies = [
    { status: 503, body: { error: { message: "busy" } } },
    { body: "no JSON" },
    { body: { choices: [] } },
    { body: { choices: [{ message: { content: null } }] } },
  ];
  const before = await shadows("plain", "failed");
  for (const [i, reply] of replies.entries()) {
    small.answer = () => reply;
    assert.ok((await ask("plain question")).body.includes(kRiver));
    await seen("plain", "failed", before + i + 1);
  }
  const { shadow } = await spent("plain");
  assert.equal(shadow.failed, 4);
  near(shadow.cost, 2 * kCostOfLarge); // pairs only
});

test("the log warns if a shadow's server refuses the router's own key", async () => {
  small.answer = () => ({ status: 401, body: { error: { message: "no" } } });
  await ask("locked question");
  await seen("locked", "failed");
  const warning = 'backend \\"node-9\\" answered 401 to the router\'s own key (api_key)';
  await until(() => daemon.log.includes(warning), () => daemon.log);
  assert.ok(!daemon.log.includes("sk-wrong"));
});

test("a slow shadow ends at its limit, and no client waits for it", async () => {
  const held = gate();
  small.answer = async () => (await held.opened, answers(kRiver)({}));
  await ask("hasty question");
  await seen("hasty", "timeout");
  held.open();
});

test("shadows that are late leave their servers in rotation", async () => {
  const held = gate();
  small.answer = async () => (await held.opened, answers(kRiver)({}));
  for (let i = 1; i <= 4; ++i) {
    await ask("worn question");
    await seen("worn", "timeout", i);
  }
  held.open();
  assert.ok(!daemon.log.includes("out of rotation"), daemon.log);
});

test("a shadow does not wait for a busy server", async () => {
  const held = gate();
  const arrived = gate();
  small.answer = async () => (arrived.open(), await held.opened, answers(kRiver)({}));
  const live = ask("question", { model: "narrow" });
  await arrived.opened;
  await ask("narrow question");
  await seen("narrow", "busy");
  held.open();
  assert.ok((await live).body.includes(kRiver));
  assert.equal((await spent("plain")).shadows.find((each) => each.decision === "narrow"), undefined);
});

test("a shadow without usage is estimated", async () => {
  small.answer = () => completion({ content: kRiver }, "stop", null);
  await ask("silent question");
  await seen("silent", "agreed");
  const { shadow } = await spent("silent");
  assert.ok(shadow.shadow_cost > 0 && shadow.shadow_cost < kCostOfSmall, JSON.stringify(shadow));
});

test("an answer that cannot be read has no shadow", async () => {
  let called = 0;
  large.answer = () => ({ body: { choices: [] } });
  small.answer = (received) => ((called += 1), answers(kRiver)(received));
  await ask("garbled question");
  await seen("garbled", "unreadable");
  assert.equal(called, 0);
  assert.equal((await spent("garbled")).shadow, undefined);
});

test("a share of 0 sends nothing, and neither does a request of another decision", async () => {
  let called = 0;
  small.answer = (received) => ((called += 1), answers(kRiver)(received));
  await ask("never");
  await ask("no decision");
  const agreed = await shadows("plain", "agreed");
  await ask("plain question"); // its shadow begins after those before
  await seen("plain", "agreed", agreed + 1);
  assert.equal(called, 1);
});

test("a request beyond the limit of those under way has no shadow", async () => {
  const held = gate();
  const arrived = gate();
  small.answer = async () => (arrived.open(), await held.opened, answers(kRiver)({}));
  await ask("few first");
  await arrived.opened;
  await ask("few second");
  await seen("few", "over_limit");
  held.open();
  await seen("few", "agreed");
  small.answer = answers(kRiver);
  await until(async () => (await ask("few third"), (await shadows("few", "agreed")) > 1));
});

test("an answer that is too long is not compared", async () => {
  await ask("brief question");
  await seen("brief", "too_large");
});

test("an answer from the cache and a fixed answer have no shadow", async () => {
  await ask("kept question");
  await seen("kept", "agreed");
  let called = 0;
  small.answer = (received) => ((called += 1), answers(kRiver)(received));
  assert.ok((await ask("kept question")).body.includes(kRiver));
  assert.ok((await ask("fixed question")).body.includes("Fixed."));
  const agreed = await shadows("plain", "agreed");
  await ask("plain question");
  await seen("plain", "agreed", agreed + 1);
  assert.equal(called, 1);
});

test("several shadows of one request, of which the client's own model is none", async () => {
  await ask("two question");
  await seen("two", "agreed");
  await seen("two", "failed");
  await seen("two", "same_model");
});

test("the record has figures, and texts only where the decision records them", async () => {
  const recordOf = async (id) => (await fetch(`${daemon.managementUrl}/v1/router_replay/${id}`)).json();
  const noted = await ask("noted question");
  const [shadow] = await until(async () => (await recordOf(noted.replay)).shadows);
  assert.deepEqual([shadow.name, shadow.model, shadow.outcome, shadow.status, shadow.prompt_tokens], ["trial", "small", "agreed", 200, 1000]);
  near(shadow.similarity, 1);
  assert.equal(shadow.response, kRiver);
  const plain = await ask("plain question");
  const [bare] = await until(async () => (await recordOf(plain.replay)).shadows);
  assert.equal(bare.outcome, "agreed");
  assert.equal(bare.response, undefined);
  assert.ok(!daemon.log.includes("Danube"), "a text is in the log");
});

test("the trace has the shadow's span, and the explanation its models", async () => {
  const span = await until(() => collector.spans.find((each) => each.name === "semantic_router.shadow.request"));
  const root = await until(() => collector.spans.find((each) => each.id === span.parent));
  assert.equal(root.name, "semantic_router.request.received");
  const explained = await fetch(`${daemon.managementUrl}/api/v1/explain`, { method: "POST", body: JSON.stringify({ text: "plain question" }) });
  assert.deepEqual((await explained.json()).plan.shadow, { models: ["small"], sample_rate: 1 });
});

test("the report of the command line", async () => {
  await spent("plain"); // which writes what is not written yet
  const text = execFileSync(process.env.SIGNALBOX, ["report", "--config", daemon.file], { encoding: "utf8" });
  assert.match(text, /^judged +large +small +4 /m);
});

test("a stop gives up shadows that take longer than the time to drain", async () => {
  const arrived = gate();
  const hung = gate();
  const closed = gate();
  const other = await Daemon.start(configuration((await freePorts(1))[0], "500ms"));
  small.answer = async () => (arrived.open(), await hung.opened, answers(kRiver)({}));
  small.server.once("connection", (socket) => socket.once("close", closed.open));
  await ask("plain question", {}, other);
  await arrived.opened;
  await other.stop(); // fails if it takes long
  await closed.opened;
  hung.open();
});

test("a stop gives up a judge that does not answer", async () => {
  const arrived = gate();
  const hung = gate();
  const other = await Daemon.start(configuration((await freePorts(1))[0], "500ms"));
  small.answer = answers("Another text.");
  judge.answer = async () => (arrived.open(), await hung.opened, completion({ content: "agree" }));
  await ask("judged question", {}, other);
  await arrived.opened;
  await other.stop(); // fails if it takes as long as the judge may
  hung.open();
});

test("a stop waits for shadows that end in time", async () => {
  const arrived = gate();
  const other = await Daemon.start(configuration((await freePorts(1))[0], "30s"));
  const held = gate();
  small.answer = async () => (arrived.open(), await held.opened, answers(kRiver)({}));
  await ask("plain question", {}, other);
  await arrived.opened;
  other.process.kill("SIGTERM");
  await until(async () => (await fetch(`${other.managementUrl}/ready`).catch(() => ({ status: 503 }))).status !== 200);
  held.open();
  await other.exited;
  const text = execFileSync(process.env.SIGNALBOX, ["report", "--json", "--config", other.file], { encoding: "utf8" });
  assert.equal(JSON.parse(text).shadows[0].agreed, 1);
});
