// Tests OpenAI's own client with the APIs other than chat completions: responses with their state, and completions.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream, completion, streamed } from "./upstream.mjs";

const configuration = (upstream) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: scripted}
  models:
    - {name: scripted, backend_refs: [{name: scripted, endpoint: "127.0.0.1:${upstream}"}]}
routing:
  signals:
    keywords:
      - {name: secret, keywords: [forbidden]}
      - {name: advised, keywords: [advice]}
  decisions:
    - name: refused
      priority: 3
      rules: {type: keyword, name: secret}
      modelRefs: [{model: scripted}]
      plugins: [{type: fast_response, configuration: {message: "I will not."}}]
    - name: advised
      priority: 2
      rules: {type: keyword, name: advised}
      modelRefs: [{model: scripted}]
      plugins: [{type: system_prompt, configuration: {system_prompt: "Be careful."}}]
    - name: other
      priority: 1
      modelRefs: [{model: scripted}]
      plugins: [{type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}]
global:
  services:
    response_api: {enabled: true, store_backend: memory, ttl_seconds: 600, max_responses: 3}
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

let upstream, daemon, client;

before(async () => {
  upstream = await ScriptedUpstream.start();
  daemon = await Daemon.start(configuration(upstream.port));
  client = new OpenAI({ apiKey: "key-1", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
});

after(async () => {
  await upstream?.stop();
  await daemon?.stop();
});

const kTool = { type: "function", name: "weather", description: "Says how it is", parameters: { type: "object" }, strict: false };
const user = (text) => ({ role: "user", content: text });

test("a response is made from a chat completion, and its parameters reach the server", async () => {
  upstream.answer = () => completion({ content: "Fine.", reasoning_content: "Hm." });
  const response = await client.responses.create({
    model: "auto",
    instructions: "Be kind.",
    input: [
      { role: "developer", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "input_text", text: "What is this?" },
          { type: "input_image", image_url: "data:image/png;base64,aGk=", detail: "low" },
          { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,aGk=" },
        ],
      },
    ],
    max_output_tokens: 50,
    temperature: 0.5,
    reasoning: { effort: "low" },
    text: { format: { type: "json_schema", name: "reply", schema: { type: "object" }, strict: true } },
    tools: [kTool],
    tool_choice: { type: "function", name: "weather" },
    parallel_tool_calls: false,
    metadata: { topic: "pictures" },
  });
  const { messages, ...rest } = upstream.received;
  assert.deepEqual(messages, [
    { role: "system", content: "Be kind.\n\nBe brief." },
    {
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: "data:image/png;base64,aGk=", detail: "low" } },
        { type: "file", file: { file_data: "data:application/pdf;base64,aGk=", filename: "a.pdf" } },
      ],
    },
  ]);
  const { type, ...definition } = kTool;
  assert.deepEqual(rest, {
    model: "scripted",
    tools: [{ type, function: definition }],
    parallel_tool_calls: false,
    tool_choice: { type: "function", function: { name: "weather" } },
    response_format: { type: "json_schema", json_schema: { name: "reply", schema: { type: "object" }, strict: true } },
    max_tokens: 50,
    reasoning_effort: "low",
    temperature: 0.5,
    metadata: { topic: "pictures" },
  });
  assert.match(response.id, /^resp_[0-9a-f]{32}$/);
  assert.equal(response.status, "completed");
  assert.equal(response.output_text, "Fine.");
  assert.equal(response.output[0].type, "reasoning");
  assert.equal(response.output[0].content[0].text, "Hm.");
  assert.equal(response.output[1].type, "message");
  assert.deepEqual(response.tools, [kTool]);
  assert.deepEqual(response.metadata, { topic: "pictures" });
  assert.equal(response.usage.total_tokens, 10);
});

test("a response goes on from another, without its instructions", async () => {
  upstream.answer = () => completion({ content: "Rome." });
  const first = await client.responses.create({ model: "auto", instructions: "Be kind.", input: "Where?" });
  upstream.answer = () => completion({ content: "27 degrees." });
  const second = await client.responses.create({ model: "auto", input: "How warm?", previous_response_id: first.id });
  assert.deepEqual(upstream.received.messages, [user("Where?"), { role: "assistant", content: "Rome." }, user("How warm?")]);
  assert.equal(second.previous_response_id, first.id);

  const again = await client.responses.retrieve(second.id);
  assert.equal(again.output_text, "27 degrees.");
  const items = await client.responses.inputItems.list(second.id);
  assert.deepEqual(items.data[0].content, [{ type: "input_text", text: "How warm?" }]);
  assert.match(items.data[0].id, /^msg_/);

  await client.responses.delete(second.id);
  await assert.rejects(client.responses.retrieve(second.id), { status: 404 });
  await assert.rejects(client.responses.create({ model: "auto", input: "x", previous_response_id: second.id }), (error) => {
    assert.equal(error.status, 400);
    assert.equal(error.param, "previous_response_id");
    return true;
  });
});

test("responses are stored on request, belong to their owner, and the oldest is removed", async () => {
  upstream.answer = () => completion({ content: "Yes." });
  const unkept = await client.responses.create({ model: "auto", input: "x", store: false });
  assert.equal(unkept.store, false);
  await assert.rejects(client.responses.retrieve(unkept.id), { status: 404 });

  const kept = await client.responses.create({ model: "auto", input: "x" });
  const other = new OpenAI({ apiKey: "key-2", baseURL: `${daemon.url}/v1`, maxRetries: 0 });
  await assert.rejects(other.responses.retrieve(kept.id), { status: 404 });
  await assert.rejects(other.responses.delete(kept.id), { status: 404 });
  await client.responses.retrieve(kept.id);
  for (let i = 0; i < 3; ++i) await client.responses.create({ model: "auto", input: "x" });
  await assert.rejects(client.responses.retrieve(kept.id), { status: 404 });
});

test("a response streams, calls of tools too, and is stored like any other", async () => {
  const part = (index, text, more = {}) => ({ tool_calls: [{ index, ...more, function: { arguments: text, ...more.function } }] });
  upstream.answer = () =>
    streamed(
      [
        { role: "assistant", content: "" },
        { reasoning_content: "Hm." },
        { content: "Let me " },
        { content: "see." },
        part(0, "", { id: "call-a", type: "function", function: { name: "weather" } }),
        part(0, '{"city":'),
        part(0, '"Rome"}'),
        part(1, "{}", { id: "call-b", type: "function", function: { name: "weather" } }),
      ],
      "tool_calls",
    );
  const types = [];
  const stream = client.responses.stream({ model: "auto", input: "Weather?", tools: [kTool] });
  let sequence = -1;
  let text = "";
  for await (const event of stream) {
    assert.equal(event.sequence_number, ++sequence);
    if (event.type !== types.at(-1)) types.push(event.type);
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  const response = await stream.finalResponse();
  assert.equal(text, "Let me see.");
  assert.equal(response.output_text, "Let me see.");
  const calls = response.output.slice(2);
  assert.deepEqual(
    calls.map((call) => [call.type, call.call_id, call.name, call.arguments]),
    [
      ["function_call", "call-a", "weather", '{"city":"Rome"}'],
      ["function_call", "call-b", "weather", "{}"],
    ],
  );
  assert.deepEqual(types, [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.reasoning_text.delta",
    "response.reasoning_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.output_item.added",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.output_item.done",
    "response.output_item.added",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.output_item.done",
    "response.completed",
  ]);
  assert.equal((await client.responses.retrieve(response.id)).output_text, "Let me see.");

  upstream.answer = () => completion({ content: "Warm." });
  const outputs = calls.map((call) => ({ type: "function_call_output", call_id: call.call_id, output: "27 degrees" }));
  await client.responses.create({ model: "auto", input: outputs, previous_response_id: response.id, tools: [kTool] });
  const call = (id, args) => ({ id, type: "function", function: { name: "weather", arguments: args } });
  const expected = [
    user("Weather?"),
    { role: "assistant", content: "Let me see.", reasoning_content: "Hm.", tool_calls: [call("call-a", '{"city":"Rome"}'), call("call-b", "{}")] },
    { role: "tool", tool_call_id: "call-a", content: "27 degrees" },
    { role: "tool", tool_call_id: "call-b", content: "27 degrees" },
  ];
  assert.deepEqual(upstream.received.messages, expected);

  // The same conversation from a client that keeps the state itself.
  const input = [user("Weather?"), ...response.output, ...outputs];
  await client.responses.create({ model: "auto", input, store: false, tools: [kTool] });
  assert.deepEqual(upstream.received.messages, expected);
});

test("a response that was cut is marked as incomplete", async () => {
  upstream.answer = () => completion({ content: "It is" }, "length");
  const response = await client.responses.create({ model: "auto", input: "x", max_output_tokens: 16 });
  assert.equal(response.status, "incomplete");
  assert.deepEqual(response.incomplete_details, { reason: "max_output_tokens" });
});

test("a stored turn continues as one message, and not at all if it has only thoughts", async () => {
  upstream.answer = () => completion({ content: null, reasoning_content: "Hm." }, "length");
  const cut = await client.responses.create({ model: "auto", input: "Weather?" });
  await client.responses.create({ model: "auto", input: "Go on.", previous_response_id: cut.id });
  assert.deepEqual(upstream.received.messages, [user("Weather?"), user("Go on.")]);
  const call = { id: "call-a", type: "function", function: { name: "weather", arguments: "{}" } };
  upstream.answer = () =>
    streamed([{ content: "Let me see." }, { reasoning_content: "Hm." }, { tool_calls: [{ index: 0, ...call }] }], "tool_calls");
  const stored = await client.responses.stream({ model: "auto", input: "Weather?", tools: [kTool] }).finalResponse();
  upstream.answer = () => completion({ content: "Warm." });
  const output = [{ type: "function_call_output", call_id: "call-a", output: "27 degrees" }];
  await client.responses.create({ model: "auto", input: output, previous_response_id: stored.id, tools: [kTool] });
  assert.deepEqual(upstream.received.messages, [
    user("Weather?"),
    { role: "assistant", content: "Let me see.", reasoning_content: "Hm.", tool_calls: [call] },
    { role: "tool", tool_call_id: "call-a", content: "27 degrees" },
  ]);
});

test("personal data is masked in the texts of a response, and forbidden texts are refused", async () => {
  upstream.answer = () => streamed([{ content: "Mail [EMAIL_ADD" }, { content: "RESS_1]." }]);
  const input = [{ role: "user", content: [{ type: "input_text", text: "I am ann@example.com" }] }];
  const response = await client.responses.stream({ model: "auto", input }).finalResponse();
  assert.equal(upstream.received.messages[0].content, "I am [EMAIL_ADDRESS_1]");
  assert.equal(response.output_text, "Mail ann@example.com.");
  const refused = await client.responses.create({ model: "auto", input: [user("forbidden")] });
  assert.equal(refused.output_text, "I will not.");
});

test("members that a chat completion cannot express are refused by their path", async () => {
  const refused = (more, param) =>
    assert.rejects(client.responses.create({ model: "auto", input: "x", ...more }), (error) => {
      assert.equal(error.status, 400);
      assert.equal(error.param, param);
      return true;
    });
  await refused({ conversation: "conv_1" }, "conversation");
  await refused({ input: [{ type: "item_reference", id: "msg_1" }] }, "input[0].id");
  await refused({ input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] }, "input[0].content[0].file_id");
});

test("members without a place in a chat completion are left out and named", async () => {
  upstream.answer = () => completion({ content: "Fine." });
  const more = { tools: [kTool, { type: "web_search" }], truncation: "auto", top_logprobs: 2, include: ["file_search_call.results"] };
  const { response } = await client.responses.create({ model: "auto", input: "x", ...more, client_metadata: { a: "b" } }).withResponse();
  assert.equal(
    response.headers.get("x-vsr-dropped"),
    "truncation, top_logprobs, client_metadata, include.file_search_call.results, tools.web_search",
  );
  assert.deepEqual(Object.keys(upstream.received).sort(), ["messages", "model", "tools"]);
});

test("a client's own tools become functions, and their calls come back as they were", async () => {
  const calls = [
    { id: "a", type: "function", function: { name: "patch", arguments: '{"input":"*** Begin"}' } },
    { id: "b", type: "function", function: { name: "agents__spawn", arguments: "{}" } },
  ];
  upstream.answer = () => completion({ content: null, tool_calls: calls }, "tool_calls");
  const spawn = { type: "function", name: "spawn", parameters: { type: "object" } };
  const tools = [{ type: "custom", name: "patch" }, { type: "namespace", name: "agents", description: "d", tools: [spawn] }];
  const { output } = await client.responses.create({ model: "auto", input: "x", tools });
  assert.deepEqual(upstream.received.tools.map(({ function: { name } }) => name), ["patch", "agents__spawn"]);
  assert.deepEqual([output[0].type, output[0].name, output[0].input], ["custom_tool_call", "patch", "*** Begin"]);
  assert.deepEqual([output[1].type, output[1].name, output[1].namespace], ["function_call", "spawn", "agents"]);
  upstream.answer = () => completion({ content: "Done." });
  const results = [
    { type: "item_reference", id: output[0].id },
    { type: "item_reference", id: output[1].id },
    { type: "custom_tool_call_output", call_id: "a", output: "ok" },
    { type: "function_call_output", call_id: "b", output: "ok" },
  ];
  await client.responses.create({ model: "auto", input: [{ role: "user", content: "x" }, ...results], tools });
  assert.deepEqual(upstream.received.messages[1].tool_calls, calls);
});

test("a stream that breaks ends with a failed response", async () => {
  const broken = async (answer) => {
    upstream.answer = () => answer;
    const events = [];
    await assert.rejects(async () => {
      for await (const event of await client.responses.create({ model: "auto", input: "x", stream: true })) events.push(event);
    });
    return events;
  };
  const begun = streamed([{ content: "Hi" }], null).events;
  for (const answer of [{ events: [...begun, "data: {\n\n"] }, { events: begun }, { events: begun, dies: true }]) {
    const events = await broken(answer);
    assert.deepEqual(events.slice(-2).map((event) => event.type), ["error", "response.failed"]);
    assert.equal(events.at(-1).response.status, "failed");
  }
});

test("a completion is routed by its prompt and passes as it came", async () => {
  const body = { id: "cmpl-1", object: "text_completion", created: 1, model: "scripted", choices: [{ text: "!", index: 0, logprobs: null, finish_reason: "stop" }] };
  upstream.answer = () => ({ body });
  const { data, response } = await client.completions.create({ model: "auto", prompt: "Say this", max_tokens: 7, suffix: "." }).withResponse();
  assert.equal(upstream.path, "/v1/completions");
  assert.equal(upstream.body, '{"model":"scripted","prompt":"Say this","max_tokens":7,"suffix":"."}');
  assert.equal(response.headers.get("x-vsr-selected-decision"), "other");
  assert.equal(data.choices[0].text, "!");

  await client.completions.create({ model: "auto", prompt: ["one", "ann@example.com"] });
  assert.deepEqual(upstream.received.prompt, ["one", "[EMAIL_ADDRESS_1]"]);
  await client.completions.create({ model: "auto", prompt: ["any advice"] });
  assert.deepEqual(upstream.received.prompt, ["Be careful.\n\nany advice"]);

  const refused = await client.completions.create({ model: "auto", prompt: "forbidden" });
  assert.equal(refused.object, "text_completion");
  assert.equal(refused.choices[0].text, "I will not.");
  let text = "";
  for await (const chunk of await client.completions.create({ model: "auto", prompt: "forbidden", stream: true })) text += chunk.choices[0]?.text ?? "";
  assert.equal(text, "I will not.");
  await assert.rejects(client.completions.create({ model: "auto", prompt: [1, 2] }), { status: 400, param: "prompt[0]" });
});

test("a completion streams, and gets personal data back", async () => {
  const chunk = (text) => ({ id: "cmpl-1", object: "text_completion", created: 1, model: "scripted", choices: [{ text, index: 0, logprobs: null, finish_reason: null }] });
  upstream.answer = () => ({ events: [chunk("Mail [EMAIL_ADD"), chunk("RESS_1] now ["), "data: [DONE]\n\n"] });
  let text = "";
  for await (const each of await client.completions.create({ model: "auto", prompt: "ann@example.com", stream: true })) text += each.choices[0].text;
  assert.equal(text, "Mail ann@example.com now [");
});

test("the log of the daemon for responses holds no texts", () => {
  assert.doesNotMatch(daemon.log, /ann@|Weather|key-1|forbidden/);
});
