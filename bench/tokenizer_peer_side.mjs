// The peer's side of bench/tokenizer_compare: implements the commands of tokenizer_side.cc with npm's tokenizers. All
// texts go in one call of encodeBatch on one thread, so that the transition from Node to the library is paid once. The
// ids are extracted outside the timed part.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";

const require = createRequire(new URL("../tests/tokenizer/peer/package.json", import.meta.url));
const { Tokenizer } = require("tokenizers");

let tokenizer;
let texts;

const processor = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

const commands = {
  open(file) {
    const [wall, begin] = [performance.now(), processor()];
    tokenizer = Tokenizer.fromFile(file);
    const took = `${(performance.now() - wall) / 1e3} ${processor() - begin}`;
    tokenizer.disableTruncation();
    tokenizer.disablePadding();
    return took;
  },
  texts(file) {
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    texts = lines.map((line) => JSON.parse(line).text);
    return String(texts.length);
  },
  async ids() {
    return JSON.stringify((await tokenizer.encodeBatch(texts)).map((encoding) => encoding.getIds()));
  },
  async run(times) {
    const begin = processor();
    for (let i = 0; i < Number(times); ++i) await tokenizer.encodeBatch(texts);
    return String(processor() - begin);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...rest] = line.split(" ");
  process.stdout.write(`${await commands[name](...rest)}\n`);
}
