// The peer's side of bench/tokenizer_compare: the commands of tokenizer_side.cc, answered by npm's tokenizers. Texts go
// in one call of encodeBatch, on one thread, so that the way from Node into the library is paid once for all of them, and
// ids are taken out of the encodings outside of what is timed.

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
