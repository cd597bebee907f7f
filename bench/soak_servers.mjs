// The model servers of the soak: two for each of two models, with faults that may be switched on.

import { ScriptedUpstream } from "../tests/e2e/upstream.mjs";
import { streamedReply, textOf, wholeReply } from "./soak_answers.mjs";

const kModels = ["small", "large"];
export const kFaults = ["500", "reset", "hang"];
/// The texts of attacks and personal data contain these, and no server may receive them.
export const kForbidden = /soak-attack|@private\.example/;
/// A stream whose request has this word stops in the middle until the client has gone.
export const kStalls = "stalls";

export class Servers {
  static async start() {
    const servers = new Servers();
    servers.all = [];
    Object.assign(servers, { counted: 0, stalled: 0, calls: 0, faulty: 0, leaks: [] });
    for (const model of kModels) {
      for (let i = 1; i <= 2; ++i) {
        const server = await ScriptedUpstream.start();
        Object.assign(server, { model, name: `${model}-${i}`, fault: null });
        server.answer = (received) => servers.#answer(server, received);
        servers.all.push(server);
      }
    }
    return servers;
  }

  of(model) {
    return this.all.filter((server) => server.model === model);
  }

  #answer(server, received) {
    ++this.calls;
    const leak = kForbidden.exec(server.body);
    if (leak) this.leaks.push({ server: server.name, found: leak[0], body: server.body });
    if (server.fault !== null) return this.#fail(server);
    const text = textOf(received.model, received.messages, server.body.includes("counted") ? ++this.counted : 0);
    if (!received.stream) return { body: wholeReply(received.model, text) };
    const events = streamedReply(received.model, text, received.stream_options?.include_usage);
    if (!server.body.includes(kStalls)) return { events };
    ++this.stalled;
    server.closed.then(() => --this.stalled);
    return { events: firstHalf(events), ends: server.closed };
  }

  #fail(server) {
    ++this.faulty;
    if (server.fault === "500") return { status: 500, body: { error: { message: "a fault of the soak", type: "server_error" } } };
    if (server.fault === "reset") server.drop();
    return new Promise(() => {});
  }

  async stop() {
    await Promise.all(this.all.map((server) => server.stop()));
  }
}

export const firstHalf = (events) => events.slice(0, Math.ceil(events.length / 2));
