// The stored responses of one client of the soak, on routers that share them in Redis. Each must be found by every router
// until it is deleted or expires, with these exceptions, which docs/api.md documents: while Redis is in trouble, only the router
// that made a response is sure to have it, and only as one of its newest; and a response that has left its router's memory is
// gone if Redis loses its data.

import { textOf } from "./soak_answers.mjs";
import { kLimits } from "./soak_configuration.mjs";

const kTurnsMax = 6;
const kLifeMs = kLimits.responseSeconds * 1000;
const kAuditMs = 0.6 * kLifeMs; // each response is read at this age at the latest
const kSlackMs = 1500; // times are whole seconds in the router

const kMissing = { GET: 404, DELETE: 404, POST: 400 };
const kReasons = {
  deleted: "a response that was deleted",
  expired: "a response that has expired",
  lost: "a response that had left its router's memory when Redis lost its data",
  away: "a response of another router while Redis is in trouble",
  doubtful: "a response whose deletion was refused while Redis was in trouble",
};

export class Responses {
  kept = []; // oldest first
  constructor(loop) {
    this.loop = loop;
  }

  /// The outcomes that a request for the response may have: {found, missing, away}. The last two are reasons.
  #outcomes(entry, router, reply) {
    const { redis } = this.loop.world;
    const isQuiet = reply.wasQuiet && redis.troubles === reply.troubles;
    const away = isQuiet ? null : kReasons.away;
    const mayHaveExpired = reply.ended - entry.began > kLifeMs - kSlackMs;
    const hasExpired = reply.began - entry.ended > kLifeMs + kSlackMs;
    if (entry.deletedBy) {
      // A router remembers its deletion as long as the response would have lived.
      const isOwn = entry.deletedBy === router;
      const found = !isQuiet && !isOwn && !hasExpired;
      return { found, missing: kReasons.deleted, away: isOwn && !mayHaveExpired ? null : away };
    }
    if (hasExpired) return { found: false, missing: kReasons.expired, away };
    if (mayHaveExpired) return { found: true, missing: kReasons.expired, away };
    const { isDoubtful, mayBeLost } = entry;
    if (router === entry.router && isInMemory(entry) && !isDoubtful) return { found: true, missing: null, away: null };
    return { found: true, missing: mayBeLost ? kReasons.lost : isDoubtful ? kReasons.doubtful : away, away };
  }

  async #send(request) {
    const { redis } = this.loop.world;
    const before = { began: Date.now(), endedBefore: request.router.ended, wasQuiet: redis.isQuiet, troubles: redis.troubles };
    const reply = await this.loop.send(request);
    return { ...reply, ...before, ended: Date.now() };
  }

  /// Returns true if the response was found and may have been; counts what else is allowed, and fails otherwise.
  #finds(kind, entry, request, reply) {
    const { loop } = this;
    const outcomes = this.#outcomes(entry, request.router, reply);
    const missing = kMissing[request.method ?? "POST"];
    const reason = reply.status === missing ? outcomes.missing : reply.status === 502 ? outcomes.away : null;
    if (reply.status !== 200 && reason) {
      loop.world.book.allow(reply.status, reason);
      if (reason === kReasons.lost) this.kept = this.kept.filter((each) => each !== entry);
      return false;
    }
    const isLost = reply.status === missing || reply.status === 502;
    return loop.expect(reply.status === 200 && outcomes.found, kind, request, { outcomes, entry: shown(entry) }, reply, isLost);
  }

  /// Makes a response, mostly one that continues another.
  async create() {
    await this.#audit();
    const { loop } = this;
    const text = loop.text();
    const previous = loop.random() < 0.7 && this.kept.length > 0 ? loop.of(this.kept) : null;
    const continues = previous && previous.messages.length < 2 * kTurnsMax ? previous : null;
    const own = { role: "user", content: text };
    const more = continues ? { previous_response_id: continues.id } : {};
    const request = loop.request([own], { api: "responses", more });
    const reply = await this.#send(request);
    if (continues && !this.#finds("responses", continues, request, reply)) return;
    const messages = [...(continues?.messages ?? []), own];
    const answer = textOf("small", messages);
    const read = loop.check("responses", request, [{ text: answer, model: "small" }], reply);
    if (!read) return;
    const { began, ended, endedBefore } = reply;
    const { router } = request;
    const all = [...messages, { role: "assistant", content: answer }];
    this.kept.push({ id: read.response.id, router, endedBefore, began, ended, input: text, messages: all, response: JSON.stringify(read.response) });
  }

  async read() {
    if (await this.#audit()) return;
    if (this.kept.length === 0) return;
    const entry = this.loop.of(this.kept);
    const draw = this.loop.random();
    if (draw < 0.08) return this.#remove(entry);
    if (draw < 0.25) return this.#readInput(entry);
    return this.#read(entry);
  }

  /// Reads the responses that grow old, and those that should have expired. Returns true if there was one.
  async #audit() {
    const oldest = this.kept[0];
    const now = Date.now();
    if (oldest && now - oldest.ended > kLifeMs + 2 * kSlackMs) {
      this.kept.shift();
      await this.#read(oldest);
      return true;
    }
    const due = this.kept.find((entry) => !entry.isAudited && now - entry.ended > kAuditMs);
    if (!due) return false;
    due.isAudited = true;
    await this.#read(due);
    return true;
  }

  async #read(entry) {
    const request = { router: this.loop.of(this.loop.world.routers), method: "GET", path: `/v1/responses/${entry.id}` };
    const reply = await this.#send(request);
    if (!this.#finds("readResponse", entry, request, reply)) return;
    this.loop.expect(JSON.stringify(JSON.parse(reply.text)) === entry.response, "readResponse", request, entry.response, reply.text);
  }

  async #readInput(entry) {
    const request = { router: this.loop.of(this.loop.world.routers), method: "GET", path: `/v1/responses/${entry.id}/input_items` };
    const reply = await this.#send(request);
    if (!this.#finds("readResponse", entry, request, reply)) return;
    const found = JSON.parse(reply.text).data.at(-1)?.content?.[0]?.text;
    this.loop.expect(found === entry.input, "readResponse", request, entry.input, reply.text);
  }

  async #remove(entry) {
    const { redis, book } = this.loop.world;
    const request = { router: this.loop.of(this.loop.world.routers), method: "DELETE", path: `/v1/responses/${entry.id}` };
    const reply = await this.#send(request);
    const isQuiet = reply.wasQuiet && redis.troubles === reply.troubles;
    // While Redis is away, no router deletes, not even its own.
    if (reply.status === 502 && !isQuiet) {
      entry.isDoubtful = true;
      return book.allow(502, "a deletion while Redis is in trouble");
    }
    if (!this.#finds("readResponse", entry, request, reply)) return;
    Object.assign(entry, { deletedBy: request.router, deletedAt: reply.ended });
    await this.#read(entry);
  }

  /// A response of one client does not exist for another.
  async readForeign() {
    if (this.kept.length === 0) return;
    const { loop } = this;
    const entry = loop.of(this.kept);
    const router = loop.of(loop.world.routers);
    const key = `tenant-${(loop.number + 1) % 4}`;
    const continued = { ...loop.request([{ role: "user", content: loop.text() }], { api: "responses", more: { previous_response_id: entry.id } }), router, key };
    const request = loop.of([
      { router, key, method: "GET", path: `/v1/responses/${entry.id}` },
      { router, key, method: "GET", path: `/v1/responses/${entry.id}/input_items` },
      { router, key, method: "DELETE", path: `/v1/responses/${entry.id}` },
      continued,
    ]);
    const reply = await this.#send(request);
    const isQuiet = reply.wasQuiet && loop.world.redis.troubles === reply.troubles;
    if (!isQuiet && reply.status === 502) return loop.world.book.allow(502, kReasons.away);
    const expected = kMissing[request.method ?? "POST"];
    if (loop.expect(reply.status === expected, "foreignResponse", request, expected, reply)) loop.world.book.allow(expected, "a response of another client");
  }

  /// To be called when Redis has lost its data at `since` and the routers have written again what they have.
  dataWasLost(since) {
    for (const entry of this.kept) {
      if (!isInMemory(entry)) entry.mayBeLost = true;
      // The routers may not have learnt of this deletion before.
      if (entry.deletedBy && since - entry.deletedAt < 1000) Object.assign(entry, { deletedBy: null, isDoubtful: true });
    }
  }
}

/// A router keeps its newest responses. All that had ended when the request for this one began are older.
const isInMemory = ({ router, endedBefore }) => router.begun - endedBefore < kLimits.responses;

const shown = ({ router, deletedBy, ...rest }) => ({ ...rest, router: router.name, deletedBy: deletedBy?.name, begun: router.begun });
