// The peer's side of bench/compare: runs one ONNX Runtime model on one sequence at a time and prints a line of JSON. All
// its threads work on the same sequence.
//
// usage: node side.mjs MODEL.onnx THREADS RUNS IDS     IDS: JSON; with RUNS 0 it prints its first output, else its times

import { performance } from "node:perf_hooks";
import ort from "onnxruntime-node";

const [file, threads, runs, ids] = process.argv.slice(2).map((text, i) => (i === 0 ? text : JSON.parse(text)));

const processor_ms = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
};

const session = await ort.InferenceSession.create(file, {
  executionMode: "sequential",
  graphOptimizationLevel: "all",
  interOpNumThreads: 1,
  intraOpNumThreads: threads,
});

const row = (values) => new ort.Tensor("int64", BigInt64Array.from(values, BigInt), [1, ids.length]);
const inputs = { input_ids: row(ids), attention_mask: row(ids.map(() => 1)), token_type_ids: row(ids.map(() => 0)) };
const feeds = Object.fromEntries(session.inputNames.map((name) => [name, inputs[name]]));

// Untimed: allocates memory and loads the weights into the caches.
const first = await session.run(feeds);
if (runs === 0) {
  console.log(JSON.stringify(Array.from(first[session.outputNames[0]].data)));
} else {
  const ms = [];
  const before = processor_ms();
  for (let i = 0; i < runs; ++i) {
    const begin = performance.now();
    await session.run(feeds);
    ms.push(performance.now() - begin);
  }
  const cpu_ms = (processor_ms() - before) / runs;
  ms.sort((a, b) => a - b);
  console.log(JSON.stringify({ min_ms: ms[0], median_ms: ms[runs >> 1], cpu_ms }));
}
