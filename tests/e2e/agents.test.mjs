// Tests unmodified agent frameworks with their default settings, over several turns with tools: the AI SDK's own
// providers for OpenAI and Anthropic, OpenAI Agents with a handoff, LangGraph, and LlamaIndex. Each runs directly and through the
// daemon, in front of servers of its own API, which must get the same bytes, and of chat completions.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { tool as langTool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { OpenAI as LlamaIndexOpenAI } from "@llamaindex/openai";
import { agent as llamaAgent } from "@llamaindex/workflow";
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool as agentTool } from "@openai/agents";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { tool as llamaTool } from "llamaindex";

import { AgentModel } from "./clients/model.mjs";
import { configuration } from "./clients/three_apis.mjs";
import { Daemon } from "./daemon.mjs";

setTracingDisabled(true);
globalThis.AI_SDK_LOG_WARNINGS = false;

const kSteps = [
  { call: "weather", input: { city: "Rome" } },
  { call: "weather", input: { city: "Oslo" } },
  { text: "27 and 9 degrees." },
];
const kSchema = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
const kDegrees = { Rome: "27", Oslo: "9" };

let model, daemon;

before(async () => {
  model = await AgentModel.start(kSteps);
  daemon = await Daemon.start(configuration(model.port));
});

after(async () => {
  await daemon?.stop();
  await model?.stop();
});

/// Runs a session and returns the requests that reached the model.
async function requests(session, url, name, steps = kSteps) {
  model.steps = steps;
  model.requests = [];
  await session(`${url}/v1`, name);
  return model.turns();
}

const stable = (body) => body.replaceAll(/"(msg|fc|rs|call)_[0-9a-f]{20,}"/g, '"ID"');

/// A session in front of a server of the client's own API, against one without the router.
async function same(session, name, path, steps) {
  const direct = await requests(session, model.url, name, steps);
  const routed = await requests(session, daemon.url, name, steps);
  assert.equal(routed.length, direct.length);
  for (const [i, { path: used, body }] of routed.entries()) {
    assert.equal(used, path);
    assert.equal(stable(body), stable(direct[i].body));
  }
}

/// A session in front of a server of chat completions.
async function translated(session, turns, steps) {
  const routed = await requests(session, daemon.url, "chats", steps);
  assert.equal(routed.length, turns);
  for (const { path, received } of routed) {
    assert.equal(path, "/v1/chat/completions");
    assert.ok(received.messages.every(({ role }, i) => i === 0 || role !== "system"));
  }
}

const weather = tool({ description: "Degrees", inputSchema: jsonSchema(kSchema), execute: async ({ city }) => kDegrees[city] });
const kPrompt = { system: "Be brief.", prompt: "Weather in Rome and Oslo?", tools: { weather }, stopWhen: stepCountIs(5), maxRetries: 0 };

const generates = (provider) => async (baseURL, name) => {
  const { text, steps } = await generateText({ model: provider({ baseURL, apiKey: "k" })(name), ...kPrompt });
  assert.deepEqual([text, steps.length], ["27 and 9 degrees.", 3]);
};
const streams = (provider) => async (baseURL, name) => {
  const result = streamText({ model: provider({ baseURL, apiKey: "k" })(name), ...kPrompt });
  let text = "";
  for await (const part of result.textStream) text += part;
  assert.deepEqual([text, (await result.steps).length], ["27 and 9 degrees.", 3]);
};

for (const [how, run] of Object.entries({ generates, streams })) {
  test(`the AI SDK's provider for Anthropic ${how}`, async () => {
    await same(run(createAnthropic), "claude", "/v1/messages");
    await translated(run(createAnthropic), 3);
  });
  test(`the AI SDK's provider for OpenAI ${how}`, async () => {
    await same(run(createOpenAI), "gpt", "/v1/responses");
    await translated(run(createOpenAI), 3);
  });
}

test("OpenAI Agents hands a conversation over", async () => {
  const steps = [{ call: "transfer_to_meteorologist", input: {} }, ...kSteps];
  const session = async (baseURL, name) => {
    const degrees = agentTool({ name: "weather", description: "Degrees", parameters: kSchema, strict: true, execute: async ({ city }) => kDegrees[city] });
    const expert = new Agent({ name: "meteorologist", instructions: "Look it up.", tools: [degrees], model: name });
    const first = new Agent({ name: "clerk", instructions: "Hand it over.", handoffs: [expert], model: name });
    const runner = new Runner({ modelProvider: new OpenAIProvider({ apiKey: "k", baseURL }) });
    const result = await runner.run(first, "Weather in Rome and Oslo?");
    assert.equal(result.finalOutput, "27 and 9 degrees.");
    assert.equal(result.lastAgent.name, "meteorologist");
  };
  await same(session, "gpt", "/v1/responses", steps);
  await translated(session, 4, steps);
});

test("LangGraph's agent calls tools", async () => {
  const session = async (baseURL, modelName) => {
    const llm = new ChatOpenAI({ model: modelName, apiKey: "k", configuration: { baseURL }, maxRetries: 0 });
    const degrees = langTool(async ({ city }) => kDegrees[city], { name: "weather", description: "Degrees", schema: kSchema });
    const result = await createReactAgent({ llm, tools: [degrees] }).invoke({ messages: [{ role: "user", content: "Weather in Rome and Oslo?" }] });
    assert.equal(result.messages.at(-1).content, "27 and 9 degrees.");
  };
  await same(session, "chats", "/v1/chat/completions");
});

test("LlamaIndex's agent calls tools", async () => {
  const session = async (baseURL, model) => {
    const llm = new LlamaIndexOpenAI({ model, apiKey: "k", baseURL });
    const degrees = llamaTool({ name: "weather", description: "Degrees", parameters: kSchema, execute: ({ city }) => kDegrees[city] });
    const { data } = await llamaAgent({ llm, tools: [degrees] }).run("Weather in Rome and Oslo?");
    assert.equal(data.result, "27 and 9 degrees.");
  };
  await same(session, "chats", "/v1/chat/completions");
  const routed = await requests(session, daemon.url, "claude");
  assert.deepEqual(routed.map(({ path }) => path), ["/v1/messages", "/v1/messages", "/v1/messages"]);
});
