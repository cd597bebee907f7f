// A soak: two routers that share responses in Redis, in front of two models with two servers each, under 16 clients with mixed
// traffic, while servers fail, Redis stops or loses its data, and the configurations change. Each answer is computed beforehand
// and compared: chat completions byte for byte, replies of the other APIs by their text and their regular end. A write that a router
// has acknowledged must be found later. Memory and descriptors are sampled from /proc.
//
// Exits with 1 if an answer was wrong, an acknowledged write was lost, memory grew by more than 3 % after the first tenth, or
// descriptors leaked.
//
// usage: bench/soak HOURS [PROGRAM] [SEED]

import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Daemon } from "../tests/e2e/daemon.mjs";
import { Redis } from "../tests/e2e/redis.mjs";
import { until } from "../tests/e2e/until.mjs";
import { Book } from "./soak_book.mjs";
import { Client } from "./soak_client.mjs";
import { configuration } from "./soak_configuration.mjs";
import { Changes, failServers, troubleRedis } from "./soak_faults.mjs";
import { generator, Loop } from "./soak_loop.mjs";
import { report } from "./soak_report.mjs";
import { Samples } from "./soak_samples.mjs";
import { Servers, kForbidden } from "./soak_servers.mjs";

const kLoops = 16;
const kRouters = 2;
const kSampleMs = 10_000;
const kSamplesMin = 60;
const kDescriptorsLeftMax = 16; // more than at the start, when all clients have gone: connections to Redis
const models = fileURLToPath(new URL("../models", import.meta.url));

const [, , hours, seedText] = process.argv;
const seed = Number(seedText || Math.floor(Math.random() * 2 ** 31));
const lengthMs = Number(hours) * 3_600_000;

const mistake = lengthMs > 0 ? Redis.missing() : `expected hours above 0, found "${hours}"`;
if (mistake) {
  console.error(`bench/soak: ${mistake}`);
  process.exit(2);
}

async function startRouter(number, servers, redis, folder) {
  let make;
  const router = await Daemon.start((port, managementPort) => {
    make = (epoch) => configuration({ port, managementPort, servers, redisPort: redis.port, contexts: join(folder, `contexts-${number}`), models, epoch });
    return make(1);
  });
  return Object.assign(router, { name: `router ${number + 1}`, configuration: make, epochs: { active: 1, written: 1 }, begun: 0, ended: 0 });
}

/// Searches the logs for texts that no log may contain, and for crashes. Each call drops what it has read, because logs grow.
function readLogs(routers, book) {
  for (const router of routers) {
    const found = kForbidden.exec(router.log) ?? /AddressSanitizer|ThreadSanitizer|check failed/i.exec(router.log);
    if (found) book.fail("log", { request: router.name, expected: "none of it", found: router.log.slice(Math.max(0, found.index - 500), found.index + 500) });
    router.log = router.log.slice(-2000);
  }
}

const folder = await mkdtemp(join(tmpdir(), "signalbox-soak-"));
const servers = await Servers.start();
const redis = Object.assign(await Redis.on(folder), { isQuiet: true, troubles: 0 });
const routers = [];
for (let i = 0; i < kRouters; ++i) routers.push(await startRouter(i, servers, redis, folder));
// Leave no process behind, however this program ends.
process.on("exit", () => [redis, ...routers].forEach((each) => each.process.kill("SIGKILL")));
const book = new Book();
const client = new Client();
const loops = Array.from({ length: kLoops }, (_, i) => new Loop(i, seed, { routers, client, book, redis }));
const counts = {};
const began = Date.now();
const samples = new Samples(routers, began, lengthMs);
const atStart = await samples.take();
console.log(`seed ${seed}, ${hours} hours, load of the machine ${loadavg().map((each) => each.toFixed(1)).join(" ")}`);

let over = false;
let broken = null;
const isOver = () => over;
const stopIf = (work) => work.catch((error) => ((broken ??= error), (over = true)));
const works = [
  ...loops.map((loop) => loop.run(isOver)),
  failServers(servers, routers, generator(seed + 1), counts, isOver),
  troubleRedis(redis, routers, loops, generator(seed + 2), counts, isOver),
  ...routers.map((router, i) => new Changes(router, book, generator(seed + 3 + i), counts).run(isOver)),
].map(stopIf);
for (const router of routers) router.exited.then((exit) => over || stopIf(Promise.reject(new Error(`${router.name} ended: ${JSON.stringify(exit)}; its log:\n${router.log}`))));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => (over = true));

const gap = Math.min(kSampleMs, lengthMs / kSamplesMin);
while (!over && Date.now() - began < lengthMs) {
  await pause(Math.min(gap, Math.max(1, began + lengthMs - Date.now())));
  if (over) break;
  await samples.take();
  readLogs(routers, book);
}
over = true;
await Promise.all(works);
const seconds = (Date.now() - began) / 1000;

client.stop();
if (!broken) {
  await until(() => servers.stalled === 0, "the servers notice that the clients of their streams have gone").catch((error) => (broken = error));
  const left = async () => (await new Samples(routers, began, lengthMs).take()).map(({ descriptors }, i) => descriptors - atStart[i].descriptors);
  const isSmall = async () => (await left()).every((each) => each <= kDescriptorsLeftMax);
  await until(isSmall, "the descriptors are closed").catch(() => {});
  counts.left = await left();
  await Promise.all(routers.map((router) => router.stop())).catch((error) => (broken = error));
} else {
  for (const router of routers) router.process.kill("SIGKILL");
}
readLogs(routers, book);
for (const leak of servers.leaks.slice(0, 3)) book.fail("upstream", { request: leak, expected: "no attack and no personal data", found: leak.found });
await redis.kill();
await servers.stop();
await rm(folder, { recursive: true });
const isRight = report({ book, samples, servers, counts, seconds, broken, descriptorsLeftMax: kDescriptorsLeftMax });
process.exit(isRight ? 0 : 1);
