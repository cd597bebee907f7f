// The soak's client: one request over a kept-alive connection, with the bytes of its reply, and the reading of each API.

import { Agent, request } from "node:http";
import { connect } from "node:net";

const kIdleMs = 30_000; // below the router's own limit, so that no request meets a connection that is being closed
const kLimitMs = 60_000;

export class Client {
  #agent = new Agent({ keepAlive: true, timeout: kIdleMs });

  /// Resolves to {status, headers, text, whole}, or to {error}. Closes the connection once `cutAt` bytes of the
  /// reply have come.
  send(router, { method = "POST", path, key, body, headers = {}, cutAt = Infinity }) {
    const bytes = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
    const all = { ...headers, authorization: `Bearer ${key}`, "content-type": "application/json", "content-length": Buffer.byteLength(bytes) };
    return new Promise((done) => {
      const sent = request(`${router.url}${path}`, { method, agent: this.#agent, headers: all }, (reply) => {
        const parts = [];
        let length = 0;
        const result = (whole) => ({ status: reply.statusCode, headers: reply.headers, text: Buffer.concat(parts).toString(), whole });
        reply.on("data", (part) => {
          parts.push(part);
          length += part.length;
          if (length < cutAt) return;
          done(result(false));
          sent.destroy();
        });
        reply.on("end", () => done(result(reply.complete)));
        reply.on("error", (error) => done({ ...result(false), error: `${error}` }));
      });
      sent.setTimeout(kLimitMs, () => sent.destroy(new Error(`no byte for ${kLimitMs} ms`)));
      sent.on("error", (error) => done({ error: `${error}` }));
      sent.end(bytes);
    });
  }

  /// Sends bytes as they are on a connection of its own, and resolves to the status of the reply; 0 if there is none.
  raw(router, bytes) {
    return new Promise((done) => {
      const socket = connect(Number(new URL(router.url).port), "127.0.0.1");
      let text = "";
      const end = () => {
        done(Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0));
        socket.destroy();
      };
      socket.setTimeout(kLimitMs, end);
      socket.on("data", (more) => {
        text += more.toString("latin1");
        if (text.length > 12) end();
      });
      socket.on("close", end).on("error", () => {});
      socket.write(bytes);
    });
  }

  stop() {
    this.#agent.destroy();
  }
}

const events = (text) =>
  text
    .split("\n\n")
    .map((event) => /^data: (.*)$/m.exec(event)?.[1])
    .filter((data) => data !== undefined && data !== "[DONE]")
    .map((data) => JSON.parse(data));

/// For each API, a function that sends a text and one that reads the reply: {text, ends, response}. `ends` is true if the
/// reply has its regular end.
export const kApis = {
  chat: {
    path: "/v1/chat/completions",
    body: (messages) => ({ messages }),
    read(reply, stream) {
      if (!stream) {
        const [{ message, finish_reason }] = JSON.parse(reply.text).choices;
        return { text: message.content, ends: finish_reason === "stop" };
      }
      const choices = events(reply.text).flatMap((event) => event.choices);
      const text = choices.map((choice) => choice.delta.content ?? "").join("");
      return { text, ends: choices.at(-1)?.finish_reason === "stop" && reply.text.endsWith("data: [DONE]\n\n") };
    },
  },
  messages: {
    path: "/v1/messages",
    body: (messages) => ({ messages, max_tokens: 1000 }),
    read(reply, stream) {
      if (!stream) {
        const { content, stop_reason } = JSON.parse(reply.text);
        return { text: content.map((block) => block.text).join(""), ends: stop_reason === "end_turn" };
      }
      const all = events(reply.text);
      const text = all.map((event) => (event.type === "content_block_delta" ? event.delta.text : "")).join("");
      const reason = all.find((event) => event.type === "message_delta")?.delta.stop_reason;
      return { text, ends: reason === "end_turn" && all.at(-1).type === "message_stop" };
    },
  },
  responses: {
    path: "/v1/responses",
    body: (messages) => ({ input: messages.length === 1 ? messages[0].content : messages }),
    read(reply, stream) {
      const textIn = ({ output }) => output.flatMap((item) => item.content).map((part) => part.text).join("");
      if (!stream) {
        const response = JSON.parse(reply.text);
        return { text: textIn(response), ends: response.status === "completed", response };
      }
      const all = events(reply.text);
      const text = all.map((event) => (event.type === "response.output_text.delta" ? event.delta : "")).join("");
      const response = all.at(-1)?.response;
      const agrees = all.at(-1)?.type === "response.completed" && textIn(response) === text;
      return { text, ends: agrees && all.every((event, i) => event.sequence_number === i), response };
    },
  },
};
