// Tests parts of newer files of the Semantic Router: what the user wants to be done, facts about the agent behind a request,
// records that a routing forbids, and the size of a search's reply. The servers are doubles that answer as a test scripts them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Daemon } from "./daemon.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

let server, library, daemon;

const rag = (bytes) => `{type: rag, configuration: {backend: external_api, on_failure: block, backend_config: {endpoint: "http://127.0.0.1:${library.port}/s", request_format: custom, request_template: "{}", max_response_bytes: ${bytes}}}}`;

const file = (port, management) => `
version: v0.3
listeners: [{name: http, address: 127.0.0.1, port: ${port}}]
providers:
  models: [{name: m, backend_refs: [{endpoint: "127.0.0.1:${server.port}"}]}]
routing:
  signals:
    keywords: [{name: small, keywords: [smallreply]}, {name: large, keywords: [largereply]}, {name: nothing, keywords: [nothingelse]}]
    actions: [{name: fix}, {name: test}, {name: other}]
    agentic_facts:
      - {name: reviewer, field: delegated_role, predicate: {equals: reviewer}}
      - {name: working, field: task_phase, predicate: {in: [execute, verify]}}
  decisions:
    - {name: review, priority: 60, rules: {operator: AND, conditions: [{type: agentic_facts, name: reviewer}, {type: agentic_facts, name: working}]}, modelRefs: [{model: m}]}
    - {name: small, priority: 50, rules: {type: keyword, name: small}, modelRefs: [{model: m}], plugins: [${rag(20)}]}
    - {name: large, priority: 50, rules: {type: keyword, name: large}, modelRefs: [{model: m}], plugins: [${rag(4000)}]}
    - {name: repair, priority: 40, rules: {type: action, name: fix}, modelRefs: [{model: m}]}
    - {name: quality, priority: 40, rules: {type: action, name: test}, modelRefs: [{model: m}]}
    - {name: idle, priority: 30, rules: {operator: AND, conditions: [{type: action, name: other}, {operator: NOT, conditions: [{type: keyword, name: nothing}]}]}, modelRefs: [{model: m}], plugins: [{type: router_replay, configuration: {capture_request_body: true, capture_personal_data: false}}]}
entrypoints: [{model_names: [private], recipe: private}]
recipes:
  - name: private
    routing:
      data_policy: {replay: false}
      signals: {keywords: [{name: kept, keywords: [kept]}]}
      decisions: [{name: kept, rules: {type: keyword, name: kept}, modelRefs: [{model: m}], plugins: [{type: router_replay, configuration: {enabled: true}}]}]
global:
  router: {agentic_facts: {enabled: true, bounds: {max_depth: 2}}}
  services:
    router_replay: {enabled: true}
    management_api: {bind_address: 127.0.0.1, port: ${management}}
`;

before(async () => {
  [server, library] = await Promise.all([ScriptedUpstream.start(), ScriptedUpstream.start()]);
  server.answer = () => completion({ content: "Done." });
  library.answer = () => ({ body: { results: [{ text: "The mast is 31 metres high." }] } });
  daemon = await Daemon.start(file);
});
after(async () => {
  await daemon?.stop();
  for (const each of [server, library]) await each?.stop();
});

async function send(content, headers = {}, model = "auto") {
  const answer = await fetch(`${daemon.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "x-vsr-debug": "true", ...headers },
    body: JSON.stringify({ model, messages: [{ role: "user", content }] }),
  });
  await answer.text();
  return { status: answer.status, headers: answer.headers, decision: answer.headers.get("x-vsr-selected-decision") };
}

test("the first phrase that names an action decides", async () => {
  const answer = await send("Please debug this. Then explain it.");
  assert.equal(answer.decision, "repair");
  assert.equal(answer.headers.get("x-vsr-matched-action"), "fix");
  assert.equal((await send("Write unit tests for the parser.")).decision, "quality");
  assert.equal((await send("Hello there.")).decision, "idle");
});

const facts = (more = {}) => ({ version: "1", delegated_role: "reviewer", task_phase: "verify", expires_at: new Date(Date.now() + 60_000).toISOString(), ...more });
const vouched = (envelope) => ({ "x-vsr-agentic-facts": JSON.stringify(envelope), "x-vsr-agentic-facts-trusted": "1" });

test("facts about an agent count if the proxy vouches for them", async () => {
  assert.equal((await send("Hello.", vouched(facts()))).decision, "review");
  const lineage = { root_invocation_id: "a", parent_invocation_id: "b", depth: 2 };
  assert.equal((await send("Hello.", vouched(facts({ lineage, budget: { remaining_tokens: 0 }, required_capabilities: ["tools"] })))).decision, "review");
  const inOtherZone = new Date(Date.now() + 60_000 + 2 * 3_600_000).toISOString().replace("Z", "+02:00");
  assert.equal((await send("Hello.", vouched(facts({ expires_at: inOtherZone })))).decision, "review");
  const { "x-vsr-agentic-facts-trusted": _, ...alone } = vouched(facts());
  assert.equal((await send("Hello.", alone)).decision, "idle");
  assert.equal((await send("Hello.", { ...vouched(facts()), "x-vsr-agentic-facts-trusted": "0" })).decision, "idle");
});

test("one fact that breaks a rule makes all of them void", async () => {
  const broken = {
    version: { version: "2" },
    "no time": { expires_at: undefined },
    expired: { expires_at: new Date(Date.now() - 60_000).toISOString() },
    "valid too long": { expires_at: new Date(Date.now() + 3_600_000).toISOString() },
    "too deep": { lineage: { root_invocation_id: "a", parent_invocation_id: "b", depth: 3 } },
    "no parent": { lineage: { depth: 1 } },
    "a long text": { trust_boundary: { tenant: "t".repeat(129) } },
    "a negative budget": { budget: { remaining_cost: -1 } },
    "too many capabilities": { required_capabilities: Array(17).fill("tools") },
    "another type": { delegated_role: ["reviewer"] },
    portability: { context_portability: "sometimes" },
    "another role": { delegated_role: "Reviewer" },
  };
  for (const [name, more] of Object.entries(broken)) assert.equal((await send("Hello.", vouched(facts(more)))).decision, "idle", name);
  assert.equal((await send("Hello.", { ...vouched(facts()), "x-vsr-agentic-facts": "{" })).decision, "idle");
});

test("a routing that forbids records has none, with or without a decision", async () => {
  assert.equal((await send("This is kept.", {}, "private")).headers.get("x-vsr-replay-id"), null);
  assert.equal((await send("This is not.", {}, "private")).headers.get("x-vsr-replay-id"), null);
  assert.match((await send("Fix this.")).headers.get("x-vsr-replay-id"), /^replay-/);
});

test("records hold no texts if personal data must not be recorded", async () => {
  const id = (await send("Hello, my name is Ann.")).headers.get("x-vsr-replay-id");
  const record = await until(async () => {
    const reply = await fetch(`${daemon.managementUrl}/v1/router_replay/${id}`);
    const text = await reply.text();
    return reply.status === 200 && text;
  }, "the record");
  assert.doesNotMatch(record, /Ann/);
});

test("the reply of a search has a greatest size", async () => {
  assert.equal((await send("largereply")).status, 200);
  assert.notEqual((await send("smallreply")).status, 200);
});
