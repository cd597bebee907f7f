// The contexts of one client of the soak: each is used, read and deleted, and none may be gone before.

import { textOf } from "./soak_answers.mjs";

const kContextsMax = 5; // of one client

export class Contexts {
  #kept = [];
  constructor(loop) {
    this.loop = loop;
  }

  async use() {
    const draw = this.loop.random();
    if (this.#kept.length === 0 || (draw < 0.2 && this.#kept.length < kContextsMax)) return this.#store();
    const context = this.loop.of(this.#kept);
    if (draw < 0.35) return this.#remove(context);
    if (draw < 0.5) return this.#read(context);
    if (draw < 0.6) return this.#useForeign(context);
    return this.#use(context);
  }

  async #store() {
    const { loop } = this;
    const messages = [{ role: "system", content: `${loop.text()} ${"naïve “terms” ".repeat(500 + loop.below(2000))}` }];
    const pinned = loop.random() < 0.1;
    const request = { router: loop.of(loop.world.routers), path: "/v1/contexts", body: { messages, pinned } };
    const reply = await loop.send(request);
    // Pins have a limit of their own.
    if (pinned && reply.status === 413) return loop.world.book.allow(413, "no room for another pinned context");
    if (!loop.expect(reply.status === 201, "contexts", request, 201, reply)) return;
    const { id, durable } = JSON.parse(reply.text);
    loop.expect(durable === true, "contexts", request, "durable", reply.text);
    this.#kept.push({ id, router: request.router, messages });
  }

  #requestFor({ id, router }) {
    const { loop } = this;
    const messages = [{ role: "user", content: loop.text() }];
    const api = loop.of(["chat", "messages"]);
    const metadata = { context_refs: api === "chat" ? [id] : id };
    return { messages, request: { ...loop.request(messages, { api, more: { metadata } }), router } };
  }

  async #use(context) {
    const { messages, request } = this.#requestFor(context);
    const reply = await this.loop.send(request);
    const text = textOf("small", [...context.messages, ...messages]);
    const isLost = reply.status === 400;
    if (isLost) return this.loop.expect(false, "contexts", request, { status: 200 }, reply, true);
    this.loop.check("contexts", request, [{ text, model: "small" }], reply);
  }

  async #read(context) {
    const request = { router: context.router, method: "GET", path: `/v1/contexts/${context.id}` };
    const reply = await this.loop.send(request);
    const found = reply.status === 200 && JSON.stringify(JSON.parse(reply.text).messages);
    this.loop.expect(found === JSON.stringify(context.messages), "contexts", request, context.messages, reply, reply.status === 404);
  }

  async #useForeign(context) {
    const { request } = this.#requestFor(context);
    const foreign = { ...request, key: "stranger" };
    const reply = await this.loop.send(foreign);
    if (this.loop.expect(reply.status === 400, "contexts", foreign, 400, reply)) this.loop.world.book.allow(400, "a context of another client");
  }

  async #remove(context) {
    this.#kept.splice(this.#kept.indexOf(context), 1);
    const request = { router: context.router, method: "DELETE", path: `/v1/contexts/${context.id}` };
    const reply = await this.loop.send(request);
    this.loop.expect(reply.status === 200, "contexts", request, 200, reply, reply.status === 404);
    const again = this.#requestFor(context).request;
    const refused = await this.loop.send(again);
    if (this.loop.expect(refused.status === 400, "contexts", again, 400, refused)) this.loop.world.book.allow(400, "a context that was deleted");
  }
}
