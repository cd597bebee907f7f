// Starts and stops a Redis that routers share, and a scripted server for their models.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Redis } from "./redis.mjs";
import { ScriptedUpstream } from "./upstream.mjs";

/// Resolves to {folder, redis, upstream}.
export async function startShared() {
  const folder = await mkdtemp(join(tmpdir(), "signalbox-shared-"));
  return { folder, redis: await Redis.on(folder), upstream: await ScriptedUpstream.start() };
}

/// Stops the routers first, so that each can write what waits.
export async function stopShared({ folder, redis, upstreams, daemons }) {
  await Promise.all(daemons.map((daemon) => daemon.stop()));
  await redis.kill();
  await Promise.all(upstreams.map((upstream) => upstream.stop()));
  await rm(folder, { recursive: true });
}
