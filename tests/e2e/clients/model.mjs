// A model server that speaks Anthropic's messages, OpenAI's responses and chat completions, for agents. It plays a list
// of steps: {call, input} calls a tool and {text} ends the turn. The step is the number of tool results in the request.
// It records the exact bytes of every request.

import { createServer } from "node:http";

const kThought = { thinking: "First I look, then I change.", signature: "c2lnbmF0dXJlLW9mLXRoZS1tb2RlbA==" };

export class AgentModel {
  static async start(steps) {
    const model = new AgentModel();
    model.steps = steps;
    model.requests = [];
    model.server = createServer((request, response) => model.#receive(request, response));
    await new Promise((done) => model.server.listen(0, "127.0.0.1", done));
    model.port = model.server.address().port;
    model.url = `http://127.0.0.1:${model.port}`;
    return model;
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  /// Returns the requests with tools, without those that agents send beside their conversation.
  turns() {
    return this.requests.filter(({ received }) => received.tools?.length > 0);
  }

  #receive(request, response) {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      const path = request.url.split("?")[0];
      const answer = { "/v1/messages": message, "/v1/responses": respond, "/v1/chat/completions": complete }[path];
      if (request.method !== "POST" || !answer) {
        response.writeHead(404, { "content-type": "application/json" });
        return response.end('{"error":{"message":"not here"}}');
      }
      const body = Buffer.concat(parts).toString();
      const received = JSON.parse(body);
      this.requests.push({ url: request.url, path, headers: request.headers, body, received });
      const step = received.tools?.length > 0 ? this.steps[results(received)] : { text: '{"title":"A small change"}' };
      const index = results(received);
      if (!step) {
        response.writeHead(400, { "content-type": "application/json" });
        return response.end('{"error":{"message":"the script has ended"}}');
      }
      const events = answer(step, index);
      if (!received.stream) {
        response.writeHead(200, { "content-type": "application/json" });
        return response.end(JSON.stringify(events.whole));
      }
      response.writeHead(200, { "content-type": "text/event-stream", "request-id": `req_${index}` });
      for (const [name, data] of events) response.write(`${name ? `event: ${name}\n` : ""}data: ${data}\n\n`);
      response.end();
    });
  }
}

function results(received) {
  if (received.input !== undefined) {
    const items = Array.isArray(received.input) ? received.input : [];
    return items.filter(({ type }) => type?.endsWith("_call_output")).length;
  }
  const blocks = received.messages.flatMap(({ role, content }) => (role === "tool" ? [{ type: "tool_result" }] : Array.isArray(content) ? content : []));
  return blocks.filter(({ type }) => type === "tool_result").length;
}

const named = (events) => events.map(([type, more]) => [type, JSON.stringify({ type, ...more })]);

function message(step, index) {
  const usage = { input_tokens: 11, cache_creation_input_tokens: 100, cache_read_input_tokens: 7, output_tokens: 1 };
  const head = { id: `msg_${index}`, type: "message", role: "assistant", model: "scripted", content: [] };
  const start = { ...head, stop_reason: null, stop_sequence: null, usage };
  const block = (at, content_block, deltas) => [
    ["content_block_start", { index: at, content_block }],
    ...deltas.map((delta) => ["content_block_delta", { index: at, delta }]),
    ["content_block_stop", { index: at }],
  ];
  const thought = block(0, { type: "thinking", thinking: "", signature: "" }, [
    { type: "thinking_delta", thinking: kThought.thinking },
    { type: "signature_delta", signature: kThought.signature },
  ]);
  const input = step.call && JSON.stringify(step.input);
  const said = step.call
    ? block(1, { type: "tool_use", id: `toolu_${index}`, name: step.call, input: {} }, [
        { type: "input_json_delta", partial_json: input.slice(0, 9) },
        { type: "input_json_delta", partial_json: input.slice(9) },
      ])
    : block(1, { type: "text", text: "" }, [{ type: "text_delta", text: step.text }]);
  const stop_reason = step.call ? "tool_use" : "end_turn";
  const events = named([
    ["message_start", { message: start }],
    ["ping", {}],
    ...thought,
    ...said,
    ["message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 9 } }],
    ["message_stop", {}],
  ]);
  const content = step.call
    ? { type: "tool_use", id: `toolu_${index}`, name: step.call, input: step.input }
    : { type: "text", text: step.text };
  events.whole = { ...start, content: [{ type: "thinking", ...kThought }, content], stop_reason };
  return events;
}

function respond(step, index) {
  const reasoning = { id: `rs_${index}`, type: "reasoning", summary: [], encrypted_content: "Z2VoZWlt" };
  const item = step.call
    ? { id: `fc_${index}`, type: "function_call", status: "completed", call_id: `call_${index}`, name: step.call, arguments: JSON.stringify(step.input) }
    : { id: `msg_${index}`, type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: step.text, annotations: [] }] };
  const usage = {
    input_tokens: 20,
    input_tokens_details: { cached_tokens: 8 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 2 },
    total_tokens: 25,
  };
  const head = { id: `resp_${index}`, object: "response", created_at: 1, model: "scripted" };
  const whole = { ...head, status: "completed", output: [reasoning, item], usage };
  let sequence_number = 0;
  const event = (type, more) => [type, { sequence_number: sequence_number++, ...more }];
  const events = [event("response.created", { response: { ...head, status: "in_progress", output: [] } })];
  for (const [output_index, each] of [reasoning, item].entries()) {
    events.push(event("response.output_item.added", { output_index, item: { ...each, status: "in_progress" } }));
    if (each.content) events.push(event("response.output_text.delta", { item_id: each.id, output_index, content_index: 0, delta: step.text }));
    if (each.arguments) events.push(event("response.function_call_arguments.delta", { item_id: each.id, output_index, delta: each.arguments }));
    events.push(event("response.output_item.done", { output_index, item: each }));
  }
  events.push(event("response.completed", { response: whole }));
  const out = named(events);
  out.whole = whole;
  return out;
}

function complete(step, index) {
  const chunk = (choices, more = {}) => ["", JSON.stringify({ id: `c${index}`, object: "chat.completion.chunk", created: 1, model: "scripted", choices, ...more })];
  const delta = (more, finish_reason = null) => chunk([{ index: 0, delta: more, finish_reason }]);
  const call = step.call && { id: `call_${index}`, type: "function", function: { name: step.call, arguments: JSON.stringify(step.input) } };
  const usage = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 };
  const events = [
    delta({ role: "assistant", content: "" }),
    delta({ reasoning_content: kThought.thinking }),
    delta(call ? { tool_calls: [{ index: 0, ...call }] } : { content: step.text }),
    delta({}, call ? "tool_calls" : "stop"),
    chunk([], { usage }),
    ["", "[DONE]"],
  ];
  const spoken = { role: "assistant", content: call ? null : step.text, ...(call ? { tool_calls: [call] } : {}) };
  const choices = [{ index: 0, message: spoken, finish_reason: call ? "tool_calls" : "stop" }];
  events.whole = { id: `c${index}`, object: "chat.completion", created: 1, model: "scripted", choices, usage };
  return events;
}
