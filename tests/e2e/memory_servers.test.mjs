// Tests memories that two routers share through doubles of Milvus and of Qdrant, which fail, lie, and lose their data. No real
// Milvus and no real Qdrant was tested.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";

import { Daemon, withDaemon } from "./daemon.mjs";
import { embeddings, has, kAnswer, kAsked, kGreen, listed, memory, rememberingFile, sayOnceTo, sayTo, works } from "./remembering.mjs";
import { MilvusDouble, QdrantDouble } from "./row_servers.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

for (const Double of [MilvusDouble, QdrantDouble]) {
  describe(Double.name, () => {
    let model, embedder, server;
    const daemons = [];
    const configuration = (more = "") => (port, management) => rememberingFile({ model, embedder, store: server.store(), more }, port, management);
    const say = (daemon, user, text) => sayTo(model, daemon, user, text);

    before(async () => {
      [model, embedder, server] = [await ScriptedUpstream.start(), await ScriptedUpstream.start(), await Double.start()];
      model.answer = () => completion({ content: kAnswer });
      embedder.answer = embeddings;
      for (let i = 0; i < 2; ++i) daemons.push(await Daemon.start(configuration()));
    });

    after(async () => {
      await Promise.all(daemons.map((daemon) => daemon.stop()));
      for (const each of [model, embedder, server]) await each.stop();
    });

    test("the other router finds what one has stored, for its user alone", async () => {
      const [one, other] = daemons;
      assert.deepEqual(await say(one, "ann", kGreen), { outcome: "nothing", system: "" });
      await has(other, "ann", 1);
      const { outcome, system } = await say(other, "ann", kAsked);
      assert.equal(outcome, "added");
      assert.match(system, new RegExp(`User: ${kGreen}\nAnswer: ${kAnswer}$`));
      const [{ id, content }] = (await listed(one, "ann")).memories.slice(-1);
      assert.equal(content, `Q: ${kGreen}\nA: ${kAnswer}`);
      await until(async () => (await memory(one, "GET", "ann", `/${id}`)).body.access_count === 1, "the use counts for both");
      for (const daemon of daemons) {
        for (const user of ["bob", "Ann", 'ann" or "a" == "a', "ann\\"]) {
          assert.equal((await say(daemon, user, "Which colour does my favourite have?")).outcome, "nothing");
          for (const method of ["GET", "DELETE"]) assert.equal((await memory(daemon, method, user, `/${id}`)).status, 404);
        }
      }
      assert.equal((await memory(one, "GET", "ann", `/${id}`)).status, 200);
    });

    test("the server has digests of users and no names", async () => {
      await say(daemons[0], "carla-the-user", kGreen);
      await has(daemons[0], "carla-the-user", 1);
      assert.ok(server.text.includes(createHash("sha256").update("carla-the-user").digest("hex")));
      assert.doesNotMatch(server.text, /carla-the-user/);
    });

    test("deleted by one router, a memory is gone in the other at once", async () => {
      const [one, other] = daemons;
      for (let i = 0; i < 8; ++i) {
        const user = `deletes-${i}`;
        await say(one, user, kGreen);
        await has(other, user, 1);
        for (const [at, daemon] of daemons.entries()) assert.equal((await say(daemon, user, `${kAsked} ${at}`)).outcome, "added");
        await has(one, user, 3);
        const ids = (await listed(one, user)).memories.map(({ id }) => id);
        for (const id of ids) assert.equal((await memory(i % 2 ? one : other, "DELETE", user, i % 4 < 2 ? `/${id}` : "")).status, 200);
        for (const id of ids) assert.ok(!server.text.includes(id));
        for (const daemon of daemons) {
          assert.equal((await listed(daemon, user)).total, 0);
          assert.equal((await say(daemon, user, "Whatever is my favourite colour?")).outcome, "nothing");
          await memory(daemon, "DELETE", user);
        }
      }
    });

    test("a turn that was under way when the user deleted everything at the other router is not stored", async () => {
      const [one, other] = daemons;
      let go;
      const came = new Promise((arrives) => {
        model.answer = async () => {
          arrives();
          await new Promise((done) => (go = done));
          return completion({ content: kAnswer });
        };
      });
      try {
        const said = sayOnceTo(model, one, "dora", kGreen);
        await came;
        assert.equal((await memory(other, "DELETE", "dora")).status, 200);
        go();
        assert.equal((await said).outcome, "nothing");
      } finally {
        model.answer = () => completion({ content: kAnswer });
      }
      await say(one, "erik", kGreen);
      await has(other, "erik", 1); // written after the turn of dora
      for (const daemon of daemons) assert.equal((await listed(daemon, "dora")).total, 0);
    });

    test("memories outlive a restart, and stay within the limit of a user for all routers", async () => {
      await withDaemon(configuration(", quality_scoring: {max_memories_per_user: 2}"), async (third) => {
        for (let i = 0; i < 4; ++i) {
          await say(third, "fay", `The number ${"abcd"[i]} of my boats has its own harbour.`);
          await until(async () => (await listed(third, "fay")).memories[0]?.content.includes(`number ${"abcd"[i]}`), "it is written");
        }
        assert.equal((await listed(third, "fay")).total, 2);
      });
      await withDaemon(configuration(), async (next) => assert.equal((await listed(next, "fay")).total, 2));
    });

    test("hybrid search finds a memory by a rare word", async () => {
      await withDaemon(configuration(", hybrid_search: true"), async (third) => {
        await say(third, "gus", "The seal on the container at the harbour is X-4711.");
        await has(third, "gus", 1);
        assert.equal((await say(third, "gus", "4711?")).outcome, "added");
      });
    });

    test("a server that confirms a deletion and does not carry it out is reported", async () => {
      const [one, other] = daemons;
      await say(one, "hal", kGreen);
      await has(other, "hal", 1);
      const [{ id }] = (await listed(one, "hal")).memories;
      server.mood = "forgets";
      for (const path of ["", `/${id}`]) assert.equal((await memory(one, "DELETE", "hal", path)).status, 502);
      server.mood = "well";
      assert.equal((await memory(one, "DELETE", "hal", `/${id}`)).status, 200);
      assert.equal((await listed(other, "hal")).total, 0);
    });

    test("a server that applies no filter shows no user what another has", async () => {
      const [one, other] = daemons;
      await say(one, "ida", kGreen);
      await has(other, "ida", 1);
      server.mood = "mixes up";
      try {
        for (const daemon of daemons) assert.equal((await listed(daemon, "jon")).total, 0);
        assert.notEqual((await sayOnceTo(model, one, "jon", kAsked)).outcome, "added");
      } finally {
        server.mood = "well";
      }
      assert.equal((await listed(other, "ida")).total, 1);
      await memory(one, "DELETE", "jon");
    });

    test("while the server is away or refuses, requests go on, nothing is deleted, and deletions come first afterwards", async () => {
      const [one, other] = daemons;
      await say(one, "kim", kGreen);
      await say(one, "liv", kGreen);
      for (const user of ["kim", "liv"]) await has(other, user, 1);
      const before = server.save();
      const [{ id }] = (await listed(one, "kim")).memories;
      assert.equal((await memory(other, "DELETE", "kim", `/${id}`)).status, 200);
      assert.equal((await memory(one, "DELETE", "liv")).status, 200);
      await server.stop();
      for (const daemon of daemons) {
        await works(daemon, 0);
        const { outcome, system } = await sayOnceTo(model, daemon, "kim", kAsked);
        assert.deepEqual({ outcome, system }, { outcome: "failed", system: "" });
        for (const method of ["GET", "DELETE"]) assert.equal((await memory(daemon, method, "kim")).status, 502);
      }
      server.rows = before; // older data
      await server.startAgain();
      for (const daemon of daemons) await works(daemon, 1);
      for (const user of ["kim", "liv"]) {
        for (const daemon of daemons) assert.equal((await listed(daemon, user)).total, 0);
        assert.equal((await say(other, user, kAsked)).outcome, "nothing");
      }
      server.mood = "refuses";
      await works(one, 0);
      assert.equal((await sayOnceTo(model, one, "kim", kAsked)).outcome, "failed");
      server.mood = "well";
      await works(one, 1);
    });

    test("a collection of another shape is refused with its reason", async () => {
      const collection = server.collection;
      server.collection = Double === MilvusDouble ? { ...collection, params: { consistencyLevel: "Bounded" } } : { size: 64, distance: "Dot" };
      try {
        await withDaemon(configuration(), async (third) => {
          await works(third, 0);
          assert.equal((await sayOnceTo(model, third, "mia", kAsked)).outcome, "failed");
          await until(async () => third.log.includes("cannot hold memories: it"), "the reason");
        });
      } finally {
        server.collection = collection;
      }
    });
  });
}
