// Tests the guard on streaming replies with the official clients: an invented number under each action, and the delay
// between the end of its sentence and the notice to the client.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";
import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";
import { PacedUpstream } from "./upstream.mjs";
import { until } from "./until.mjs";

const decision = (name, plugin) => `
    - name: ${name}
      priority: 2
      rules: {type: keyword, name: ${name}}
      modelRefs: [{model: paced}]
      plugins: [{type: hallucination, configuration: ${plugin}}]`;

const configuration = (upstream) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: paced}
  models:
    - {name: paced, backend_refs: [{name: paced, endpoint: "127.0.0.1:${upstream}"}]}
routing:
  signals:
    keywords:
${["annotate", "warn", "finish", "count"].map((name) => `      - {name: ${name}, keywords: [${name}-it]}`).join("\n")}
  decisions:${decision("annotate", "{include_hallucination_details: true}")}${decision("warn", "{hallucination_action: body}")}${decision(
    "finish",
    "{hallucination_action: block}",
  )}${decision("count", "{hallucination_action: none}")}
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const kContext = "The Harbour Bridge was opened in 1932. Its main span is 503 m long, and it carries eight lanes.";
const kTokens = ["The", " bridge", " is", " 640", " m", " long", ".", " It", " carries", " eight", " lanes", "."];
const kText = kTokens.join("");
const kGapMs = 25;

let upstream, daemon, client;

before(async () => {
  upstream = await PacedUpstream.start(kTokens, kGapMs);
  daemon = await Daemon.start(configuration(upstream.port));
  client = new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
});

after(async () => {
  await upstream?.stop();
  await daemon?.stop();
});

beforeEach(() => (upstream.released = undefined));

/// Lets the server fall silent behind its first sentence. Returns the function that ends the silence.
function silence() {
  let end;
  upstream.released = new Promise((done) => (end = done));
  return end;
}

const requestOf = (action, more = {}) => ({
  model: "auto",
  messages: [
    { role: "user", content: `How long is the bridge? ${action}-it` },
    { role: "assistant", content: null, tool_calls: [{ id: "t", type: "function", function: { name: "look", arguments: "{}" } }] },
    { role: "tool", tool_call_id: "t", content: kContext },
  ],
  ...more,
});

/// Reads a stream. `look` gets what has come so far, after each chunk.
async function read(action, look = () => {}) {
  const stream = await client.chat.completions.create(requestOf(action, { stream: true }));
  const seen = { text: "", marks: [], reason: null, chunks: 0 };
  for await (const chunk of stream) {
    ++seen.chunks;
    if (chunk.vsr_guard) seen.marks.push({ at: performance.now(), ...chunk.vsr_guard });
    if (chunk.usage) continue;
    seen.text += chunk.choices[0].delta.content ?? "";
    seen.reason = chunk.choices[0].finish_reason ?? seen.reason;
    look(seen);
  }
  return seen;
}

test("a made-up number is marked while the stream goes on, and the text stays as it was", async (t) => {
  const delays = [];
  for (let i = 0; i < 10; ++i) {
    const seen = await read("annotate");
    assert.equal(seen.text, kText);
    assert.equal(seen.reason, "stop");
    assert.equal(seen.marks.length, 1);
    assert.deepEqual(seen.marks[0].warnings, ["hallucination"]);
    assert.deepEqual(
      seen.marks[0].spans.map(({ text, verdict }) => [text, verdict]),
      [["640 m", "fabricated_number"]],
    );
    delays.push(seen.marks[0].at - upstream.sentAt["."]);
  }
  delays.sort((a, b) => a - b);
  const [least, median, most] = [delays[0], delays[5], delays.at(-1)].map((ms) => ms.toFixed(1));
  t.diagnostic(`time from the end of the sentence to its mark, in ms, tokens ${kGapMs} ms apart: ${least} to ${most}, median ${median}`);
});

test("a made-up number is marked although upstream falls silent behind the sentence", async (t) => {
  const end = silence();
  const seen = await read("annotate", ({ marks }) => marks.length > 0 && end());
  assert.equal(seen.marks.length, 1);
  const ms = seen.marks[0].at - upstream.sentAt["."];
  t.diagnostic(`time from the end of the sentence to its mark, upstream silent: ${ms.toFixed(1)} ms`);
});

test("a warning stands in the text behind the sentence, and none of the text is lost", async () => {
  const end = silence();
  const seen = await read("warn", ({ text }) => /Warning/.test(text) && end());
  assert.equal(seen.reason, "stop");
  assert.match(seen.text, /^The bridge is 640 m long\.\n\n\[Hallucination Warning\] [^\n]+\n\n/);
  assert.equal(seen.text.replace(/\n\n\[Hallucination Warning\][^\n]+\n\n/, ""), kText);
});

test("the stream ends with a reason that clients know", async () => {
  silence();
  const seen = await read("finish");
  assert.equal(seen.reason, "content_filter");
  assert.ok(seen.text.startsWith("The bridge is 640 m long."));
  assert.ok(seen.text.length < kText.length, seen.text);
  assert.equal(seen.marks.at(-1).ended, true);
  await upstream.closed;
});

test("an action of none leaves the stream alone and counts", async () => {
  const seen = await read("count");
  assert.equal(seen.text, kText);
  assert.equal(seen.marks.length, 0);
  const metrics = await (await fetch(`${daemon.managementUrl}/metrics`)).text();
  assert.match(metrics, /signalbox_reply_guard_total\{check="hallucination",outcome="found"\} [1-9]/);
});

test("the client's helper for streams joins the same message", async () => {
  const completion = await client.chat.completions.stream(requestOf("annotate", { stream: true })).finalChatCompletion();
  assert.equal(completion.choices[0].message.content, kText);
  assert.equal(completion.choices[0].finish_reason, "stop");
});

test("a whole reply is marked in a header or in its text, or is withheld", async () => {
  const { data, response } = await client.chat.completions.create(requestOf("annotate")).withResponse();
  assert.equal(response.headers.get("x-vsr-response-warnings"), "hallucination");
  assert.equal(data.choices[0].message.content, kText);
  assert.equal(data.vsr_guard.spans[0].text, "640 m");
  const warned = await client.chat.completions.create(requestOf("warn"));
  assert.match(warned.choices[0].message.content, /^\[Hallucination Warning\] .*\n\nThe bridge/);
  await assert.rejects(
    client.chat.completions.create(requestOf("finish")),
    (error) => error.status === 403 && error.code === "response_blocked" && error.headers.get("x-vsr-response-path") === "blocked",
  );
});

test("the AI SDK reads the stream", async () => {
  const provider = createOpenAICompatible({ name: "signalbox", baseURL: `${daemon.url}/v1`, apiKey: "unused" });
  const result = streamText({
    model: provider("auto"),
    messages: [
      { role: "system", content: kContext },
      { role: "user", content: "How long is the bridge? annotate-it" },
    ],
  });
  assert.equal(await result.text, kText);
  assert.equal(await result.finishReason, "stop");
});

test("in Anthropic's form a warning is text, and an ended stream has a stop reason", async () => {
  const anthropic = new Anthropic({ apiKey: "unused", baseURL: daemon.url, maxRetries: 0 });
  const ask = (action) =>
    anthropic.messages
      .stream({
        model: "auto",
        max_tokens: 100,
        system: kContext,
        messages: [{ role: "user", content: `How long is the bridge? ${action}-it` }],
      })
      .finalMessage();
  assert.equal((await ask("annotate")).content[0].text, kText);
  assert.match((await ask("warn")).content[0].text, /\[Hallucination Warning\]/);
  silence();
  const ended = await ask("finish");
  assert.ok(ended.content[0].text.length < kText.length);
  assert.ok(ended.stop_reason, JSON.stringify(ended));
});

test("the log reports findings without texts", async () => {
  await until(() => daemon.log.includes('"hallucination":"found"'));
  assert.ok(!/lanes|bridge|640 m/.test(daemon.log));
});
