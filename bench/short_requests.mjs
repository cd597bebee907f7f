// Sends short requests on a thread of its own, for a benchmark whose main thread is busy with large ones. It sends one after the
// other until it gets a message, and then returns how many milliseconds each took.

import { Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { isMainThread, parentPort, workerData } from "node:worker_threads";

const kGapMs = 2; // between requests

/// Resolves to the status and the text of the reply.
export function send(url, path, body, agent) {
  return new Promise((done, failed) => {
    const headers = { "content-type": "application/json", "content-length": body.length };
    const call = request(`${url}${path}`, { method: "POST", agent, headers }, (reply) => {
      let answer = "";
      reply.on("data", (more) => (answer += more)).on("end", () => done({ status: reply.statusCode, answer }));
    });
    call.on("error", failed).end(body);
  });
}

async function sendUntilStopped({ url, path, body }) {
  const agent = new Agent({ keepAlive: true });
  const times = [];
  let over = false;
  parentPort.once("message", () => (over = true));
  for (; !over; await pause(kGapMs)) {
    const began = performance.now();
    const { status } = await send(url, path, Buffer.from(body), agent);
    if (status !== 200) throw new Error(`a short request got ${status}`);
    times.push(performance.now() - began);
  }
  agent.destroy();
  parentPort.postMessage(times);
}

if (!isMainThread) await sendUntilStopped(workerData);
