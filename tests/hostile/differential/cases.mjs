// The requests that the differential sends: each is a function of an id, which stands in the content of its chat. A case is
// followed by a marker, a further request on the same connection. Where two readings of a case are thinkable, its bytes hold
// an inner request, which only one of them sees.

const kPath = "/v1/chat/completions";
export const kModel = "test"; // as long as "auto", which listed cases have
export const chat = (id) => `{"model":"${kModel}","messages":[{"role":"user","content":"${id}"}]}`;
const kBytes = chat("c00000").length;
const hex = (number) => number.toString(16);

/// A whole request. `head` has the fields that frame it; null: a Content-Length.
export const post = (id, { head = null, body = chat(id), line = `POST ${kPath} HTTP/1.1`, host = "Host: a\r\n", type = "Content-Type: application/json\r\n" } = {}) =>
  `${line}\r\n${host}X-Case: ${id}\r\n${type}${head ?? `Content-Length: ${body.length}\r\n`}\r\n${body}`;

const inner = (id) => post(id.replace("c", "i"));
export const marker = (id) => post(id.replace("c", "m"), { head: `Connection: close\r\nContent-Length: ${kBytes}\r\n` });
const chunked = (id, size = hex(kBytes), end = "\r\n0\r\n\r\n", sizeEnd = "\r\n") => `${size}${sizeEnd}${chat(id)}${end}`;
const kChunked = "Transfer-Encoding: chunked\r\n";

const shown = (text) => JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
const cases = [];
const add = (name, bytes) => cases.push({ name: shown(name), bytes });

function addLengths() {
  const n = kBytes;
  const values = [`${n}`, `${n}, ${n}`, `${n},${n}`, `+${n}`, `-${n}`, ` ${n}`, `${n} `, `\t${n}`, `${n}\t`, `0${n}`, `0000000000000000000000${n}`, `0x${hex(n)}`,
    `${n};`, `${n},`, `,${n}`, `${n}.0`, `${n}e0`, `${n}\v`, `\v${n}`, `${n}\f`, `${n}\0`, `"${n}"`, `${n}`.split("").join(" "), `${n}a`, "", " ", `${2n ** 64n + BigInt(n)}`,
    `${2n ** 32n + BigInt(n)}`, `${2n ** 63n}`, "99999999999999999999", `\xa0${n}`, `${n}\r\n `, `\r\n ${n}`];
  for (const value of values) add(`length "${value}"`, (id) => post(id, { head: `Content-Length:${value.startsWith("\t") || value === "" ? "" : " "}${value}\r\n` }));
  const all = n + inner("c00000").length;
  const pairs = [[n, n], [n, 0], [0, n], [n, all], [all, n], [n, `+${n}`], [n, ""], ["", n]];
  for (const [a, b] of pairs)
    add(`lengths ${a === n ? "right" : a === all ? "long" : shown(`${a}`)} and ${b === n ? "right" : b === all ? "long" : shown(`${b}`)}`, (id) =>
      post(id, { head: `Content-Length: ${a}\r\nContent-Length: ${b}\r\n`, body: chat(id) + ([a, b].includes(all) ? inner(id) : "") }));
  const spellings = ["content-length", "CONTENT-LENGTH", "Content-Length ", "Content-Length\t", "Content_Length", " Content-Length", "\tContent-Length", "Content-Length\0", "\vContent-Length",
    "Content-Length\r", "Content-Length\v", "Content-Length\xa0", "X: y\nContent-Length", "X: y\rContent-Length", "X: y\r\rContent-Length", "Content-\r\n Length", "\"Content-Length\"", "Content-Length:"];
  for (const name of spellings) {
    add(`the only length is called "${name}"`, (id) => post(id, { head: `${name}: ${n}\r\n` }));
    add(`a second, long length is called "${name}"`, (id) => post(id, { head: `Content-Length: ${n}\r\n${name}: ${all}\r\n`, body: chat(id) + inner(id) }));
  }
}

function addCodings() {
  const values = ["chunked", "Chunked", "CHUNKED", "  chunked", "chunked ", "\tchunked", "chunked\t", "chunked,", ",chunked", "chunked, chunked", "identity", "identity, chunked",
    "chunked, identity", "gzip, chunked", "chunked, gzip", "xchunked", "chunkedx", "chunked;q=1", "chunked; x", "\"chunked\"", "'chunked'", "chunk", "\vchunked", "\fchunked", "chunked\0",
    "chunked\v", "\0chunked", "", "x\r\n chunked", "\r\n chunked", "\xa0chunked", "chunked\xa0", "chunked\r", "cow", "\x7fchunked", "chu\r\n nked"];
  const frames = { alone: (te) => te, "after a length": (te, cl) => cl + te, "before a length": (te, cl) => te + cl };
  for (const [where, join] of Object.entries(frames))
    for (const value of values)
      add(`coding "${value}" ${where}`, (id) => {
        const body = chunked(id) + inner(id);
        return post(id, { head: join(`Transfer-Encoding: ${value}\r\n`, `Content-Length: ${body.length}\r\n`), body });
      });
  const spellings = ["transfer-encoding", "Transfer-Encoding ", "Transfer-Encoding\t", "Transfer_Encoding", " Transfer-Encoding", "\tTransfer-Encoding", "Transfer-Encoding\0",
    "\vTransfer-Encoding", "X: y\nTransfer-Encoding", "X: y\rTransfer-Encoding", "Transfer-\r\n Encoding", "Transfer Encoding", "Transfer-Encoding\r", "Transfer-Encoding:", "X:\r\n\nTransfer-Encoding"];
  for (const name of spellings)
    add(`a length and a coding called "${name}"`, (id) => {
      const body = chunked(id) + inner(id);
      return post(id, { head: `Content-Length: ${body.length}\r\n${name}: chunked\r\n`, body });
    });
  for (const [a, b] of [["chunked", "chunked"], ["identity", "chunked"], ["chunked", "identity"], ["", "chunked"], ["chunked", ""], ["gzip", "chunked"], ["chunked", "cow"]])
    add(`codings "${a}" and "${b}"`, (id) => post(id, { head: `Transfer-Encoding: ${a}\r\nTransfer-Encoding: ${b}\r\n`, body: chunked(id) + inner(id) }));
  add("a short length before a coding", (id) => post(id, { head: `Content-Length: 4\r\n${kChunked}`, body: chunked(id) }));
  add("a short length after a coding", (id) => post(id, { head: `${kChunked}Content-Length: 4\r\n`, body: chunked(id) }));
  for (const connection of ["Content-Length", "Transfer-Encoding", "close, Transfer-Encoding", "Host"]) {
    add(`Connection names ${connection}, with a length`, (id) => post(id, { head: `Connection: ${connection}\r\nContent-Length: ${kBytes}\r\n` }));
    add(`Connection names ${connection}, with chunks`, (id) => post(id, { head: `Connection: ${connection}\r\n${kChunked}`, body: chunked(id) }));
  }
  for (const [name, head] of [["chunks", kChunked], ["chunks and a length", `${kChunked}Content-Length: 5\r\n`], ["chunks and keep-alive", `${kChunked}Connection: keep-alive\r\n`], ["a length and keep-alive", `Connection: keep-alive\r\nContent-Length: ${kBytes}\r\n`]])
    add(`HTTP/1.0 with ${name}`, (id) => post(id, { line: `POST ${kPath} HTTP/1.0`, head, body: head.includes("chunked") ? chunked(id) : chat(id) }));
}

function addChunks() {
  const n = hex(kBytes);
  const sizes = [n, `0${n}`, `00000000000000000000${n}`, `${n} `, ` ${n}`, `\t${n}`, `${n}\t`, `+${n}`, `-${n}`, `0x${n}`, `${n};x`, `${n};x=y`, `${n} ;x`, `${n}; x="y"`, `${n};x="a\r\nb"`,
    `${n};x="${"a".repeat(300)}"`, `${n};`, `${n};\n`, `${n};x\ny`, `${n};x\ry`, `${n};x\0y`, `${n}\0`, `${n},`, `${n}g`, `${n} x`, `1${"0".repeat(16 - n.length)}${n}`, `1${"0".repeat(8 - n.length)}${n}`, "", "g", `${n}\v`, `${n};\x80`];
  for (const size of sizes) add(`chunk size "${size}"`, (id) => post(id, { head: kChunked, body: chunked(id, size) }));
  add("a chunk size in capitals", (id) => post(id, { head: kChunked, body: `4A\r\n${chat(id)}${" ".repeat(0x4a - kBytes)}\r\n0\r\n\r\n` }));
  for (const end of ["\n", "\r", "\n\r", "\r\r\n", "\n\n"]) add(`chunk size ended by "${end}"`, (id) => post(id, { head: kChunked, body: chunked(id, n, "\r\n0\r\n\r\n", end) }));
  const ends = ["\n0\r\n\r\n", "0\r\n\r\n", "XX0\r\n\r\n", "\r\n0\n\n", "\r\n0\r\n\n", "\r\n0\n\r\n", "\r\n00\r\n\r\n", "\r\n0000000000000000000000\r\n\r\n", "\r\n0;x\r\n\r\n", "\r\n0 \r\n\r\n", "\r\n-0\r\n\r\n", "\r\n+0\r\n\r\n", "\r\n0x0\r\n\r\n", "\r\n\r\n0\r\n\r\n",
    "\r0\r\n\r\n", "\r\n0\r\r\n\r\n", "\r\n0\r\n\r\r\n", " \r\n0\r\n\r\n", "\r\n0;x\n\r\n\r\n"];
  for (const end of ends) add(`last chunk "${end}"`, (id) => post(id, { head: kChunked, body: chunked(id, n, end) }));
  const trailers = ["X: y", "Content-Length: 5", "Transfer-Encoding: chunked", "Host: b", "X: y\r\n z", " X: y", "X : y", "nothing", "X: y\nZ: z", "X: a\0b", "X: a\rb", ": y", `POST ${kPath} HTTP/1.1`, "Connection: close", "X: y\r\nX: z"];
  for (const trailer of trailers) add(`trailer "${trailer}"`, (id) => post(id, { head: kChunked, body: chunked(id, n, `\r\n0\r\n${trailer}\r\n\r\n`) }));
  add("two chunks", (id) => post(id, { head: kChunked, body: `1\r\n{\r\n${hex(kBytes - 1)}\r\n${chat(id).slice(1)}\r\n0\r\n\r\n` }));
}

function addLines() {
  const swap = (from, to) => (id) => post(id).replace(from, to);
  add("a line feed ends the request line", swap("1.1\r\n", "1.1\n"));
  add("a carriage return ends the request line", swap("1.1\r\n", "1.1\r"));
  add("a line feed ends a field", swap("a\r\n", "a\n"));
  add("a carriage return ends a field", swap("Host: a\r\n", "Host: a\r"));
  for (const end of ["\n\n", "\r\n\n", "\n\r\n", "\r\r\n\r\n", "\r\n\r\r\n", "\r\r"]) add(`the header ends by "${end}"`, swap("\r\n\r\n", end));
  for (const before of ["\r\n", "\n", "\r\n\r\n", "\r", " ", "\t", "\0", "\r\n\n", "\n\n\n", "X\r\n", "\r\n "]) add(`before the request stands "${before}"`, (id) => before + post(id));
  for (const field of ["X: a\rb", "X: a\0b", "X: a\nb", "X\0: a", "X\n: a", "X: a\r\n b", "X: a\r\n\tb", "X : a", "X\t: a", ": a", "X", "X a", "X\x80: a", "X: \x80", "X: \x01", "X: \x7f", "(X): a", "X/Y: a", "X@: a", "X:a", "X:", " X: a", "X_Y: a", "X.Y: a", "X\r: a", "X: a\r", "X: a\r\n\r", "\r"])
    add(`field "${field}"`, (id) => post(id, { head: `${field}\r\nContent-Length: ${kBytes}\r\n` }));
  add("a folded first field", (id) => post(id, { host: " X: y\r\nHost: a\r\n" }));
}

function addRequestLines() {
  const lines = [`POST ${kPath} HTTP/1.0`, `POST ${kPath} HTTP/1.2`, `POST ${kPath} HTTP/1.10`, `POST ${kPath} HTTP/01.1`, `POST ${kPath} HTTP/2.0`, `POST ${kPath} HTTP/0.9`, `POST ${kPath} http/1.1`, `POST ${kPath} HTTP/1.1 `, `POST ${kPath} HTTP/1,1`, `POST ${kPath} HTTP/1`, `POST ${kPath}`,
    `POST  ${kPath} HTTP/1.1`, `POST ${kPath}  HTTP/1.1`, `POST\t${kPath} HTTP/1.1`, `POST ${kPath}\tHTTP/1.1`, `POST ${kPath} HTTP/1.1\t`, `post ${kPath} HTTP/1.1`, `P()ST ${kPath} HTTP/1.1`, `PO\0ST ${kPath} HTTP/1.1`, `P-ST ${kPath} HTTP/1.1`, `POST ${kPath} x HTTP/1.1`,
    `POST ${kPath}\r HTTP/1.1`, `POST ${kPath}\v HTTP/1.1`, `POST http://a${kPath} HTTP/1.1`, `POST HTTP://a${kPath} HTTP/1.1`, `POST https://a${kPath} HTTP/1.1`, `POST http://b${kPath} HTTP/1.1`, `POST http://u@a${kPath} HTTP/1.1`, "POST http://a HTTP/1.1", "POST http://a?x HTTP/1.1", `POST ftp://a${kPath} HTTP/1.1`, `POST http:${kPath} HTTP/1.1`, `POST http:///${kPath} HTTP/1.1`,
    `POST /${kPath} HTTP/1.1`, "POST * HTTP/1.1", "POST a:80 HTTP/1.1", `POST v1 HTTP/1.1`, `POST ${kPath}#x HTTP/1.1`, `POST ${kPath}?x=%00 HTTP/1.1`, `POST ${kPath}?x=%0d%0aA:b HTTP/1.1`, `POST ${kPath}?x=\x80 HTTP/1.1`, `POST ${kPath}?x=\0 HTTP/1.1`, `POST ${kPath}?x=\x7f HTTP/1.1`, `POST ${kPath}?x="<> HTTP/1.1`, `POST /x/..${kPath} HTTP/1.1`, `POST \\${kPath} HTTP/1.1`, `POST ${kPath}% HTTP/1.1`,
    `CONNECT a:80 HTTP/1.1`, "OPTIONS * HTTP/1.1", `GET ${kPath} HTTP/1.1`, `HEAD ${kPath} HTTP/1.1`, `TRACE ${kPath} HTTP/1.1`, `DELETE ${kPath} HTTP/1.1`, `PUT ${kPath} HTTP/1.1`, `PRI * HTTP/2.0`];
  for (const line of lines) add(`line "${line.replaceAll(kPath, "/P")}"`, (id) => post(id, { line }));
  for (const method of ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"]) {
    add(`${method} with a request as its body`, (id) => post(id, { line: `${method} ${kPath} HTTP/1.1`, body: inner(id) }));
    add(`${method} with chunks`, (id) => post(id, { line: `${method} ${kPath} HTTP/1.1`, head: kChunked, body: chunked(id) }));
    add(`${method} without a body`, (id) => post(id, { line: `${method} ${kPath} HTTP/1.1`, head: "", body: "" }));
  }
  add("POST without a length", (id) => post(id, { head: "", body: "" }));
  add("POST without a length, with a request behind it", (id) => post(id, { head: "", body: inner(id) }));
}

function addFields() {
  const hosts = ["", "Host: a\r\nHost: a\r\n", "Host: a\r\nHost: b\r\n", "Host: a, b\r\n", "Host:\r\n", "Host: a:80\r\n", "Host: a:99999\r\n", "Host: a:b\r\n", "Host: u@a\r\n", "Host: a b\r\n", "Host: a/b\r\n", "Host: a?b\r\n", "Host: [::1]\r\n", "Host: [::1\r\n", "Host: a.\r\n", "Host: a_b\r\n", "Host: A\r\n", "Host : a\r\n", "Host: a\tb\r\n", "Host: a\0b\r\n", "Host: \x80\r\n", "host:a\r\n", "Host: a\r\n b\r\n", "Host: -\r\n", "Host: ..\r\n", "Host: a%62\r\n", "Host: a\\b\r\n"];
  for (const host of hosts) add(`host "${host.trimEnd()}"`, (id) => post(id, { host }));
  add("no host in HTTP/1.0", (id) => post(id, { host: "", line: `POST ${kPath} HTTP/1.0` }));
  for (const value of ["100-continue", "100-Continue", "100-continue ", "100-continue, x", "200-ok", "", "100-continue\r\nExpect: 100-continue"]) {
    add(`expect "${value}" with a length`, (id) => post(id, { head: `Expect: ${value}\r\nContent-Length: ${kBytes}\r\n` }));
    add(`expect "${value}" with chunks`, (id) => post(id, { head: `Expect: ${value}\r\n${kChunked}`, body: chunked(id) }));
  }
  add("expect in HTTP/1.0", (id) => post(id, { line: `POST ${kPath} HTTP/1.0`, head: `Expect: 100-continue\r\nContent-Length: ${kBytes}\r\n` }));
  for (const more of ["Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n", "Upgrade: websocket\r\nConnection: Upgrade\r\n", "Connection: close\r\n", "Connection: keep-alive, close\r\n", "Keep-Alive: max=1\r\n", "Proxy-Connection: close\r\n", "TE: chunked\r\n", "TE: trailers\r\nConnection: TE\r\n", "Max-Forwards: 0\r\n", "Trailer: Content-Length\r\n", "X-HTTP-Method-Override: GET\r\n", "X-Forwarded-Host: b\r\n", "Content-Encoding: identity\r\n"])
    add(`with "${more.trimEnd()}"`, (id) => post(id, { head: `${more}Content-Length: ${kBytes}\r\n` }));
  add("three requests", (id) => post(id) + inner(id));
}

/// A small generator of numbers (mulberry32), so that a case is the same in each run.
function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
}

/// Requests with one to three bytes of their framing changed, removed or added.
export function mutations(count) {
  const bytes = ["\r", "\n", "\0", " ", "\t", ":", ",", ";", "0", "1", "a", "\v", "\x80", "\r\n", "\"", "-", "+", "x", "\r\n "];
  return Array.from({ length: count }, (_, seed) => ({
    name: `change ${seed}`,
    bytes: (id) => {
      const next = random(seed);
      const both = `Content-Length: ${chunked(id).length + inner(id).length}\r\n`;
      const bases = [() => post(id), () => post(id, { head: kChunked, body: chunked(id) }), () => post(id, { head: `${both}X: y\r\n${kChunked}`, body: chunked(id) + inner(id) })];
      let text = bases[next() % bases.length]();
      for (let i = 1 + (next() % 3); i > 0; --i) {
        const at = next() % Math.min(text.length, 200);
        const what = next() % 3;
        text = text.slice(0, at) + (what === 2 ? "" : bytes[next() % bytes.length]) + text.slice(what === 0 ? at : at + 1);
      }
      return text;
    },
  }));
}

for (const addAll of [addLengths, addCodings, addChunks, addLines, addRequestLines, addFields]) addAll();
export { cases };
