// The servers of the differential: a model's server that records what it gets, nginx, and HAProxy.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { isOpen, kSystemEnv } from "../../e2e/daemon.mjs";

const kStartMsMax = 120_000;

/// The ids in a text, in order: c00017, i00017, m00017, v00017.
export const idsIn = (text) => text.match(/[cimv]\d{5}/g) ?? [];

/// A model's server. It answers each request with the ids in its body, and keeps what it got by the number in the ids.
/// Signalbox must send well-formed requests; a strict recorder keeps anything else as a fault. nginx and HAProxy forward some
/// malformed fields when they are set to. Another recorder ignores these, as they do, so it counts the requests that they see.
export class Recorder {
  static async start(isStrict) {
    const recorder = new Recorder();
    recorder.isStrict = isStrict;
    recorder.requests = new Map();
    recorder.faults = [];
    recorder.server = createServer({ noDelay: true }, (socket) => recorder.#serve(socket));
    await new Promise((done) => recorder.server.listen(0, "127.0.0.1", done));
    recorder.port = recorder.server.address().port;
    return recorder;
  }

  #serve(socket) {
    let text = "";
    socket.on("error", () => {});
    socket.on("data", (more) => {
      text += more.toString("latin1");
      for (let read = this.#read(text); read !== null; read = this.#read(text)) {
        if (read.fault) {
          this.faults.push(`${read.fault}: ${JSON.stringify(text.slice(0, 400))}`);
          return socket.destroy();
        }
        text = text.slice(read.bytes);
        this.#answer(socket, read);
      }
    });
  }

  #answer(socket, { head, body, method }) {
    const ids = idsIn(body);
    const number = (ids[0] ?? /\r\nx-case: (\w+)/i.exec(head)?.[1])?.slice(1);
    if (!this.requests.has(number)) this.requests.set(number, []);
    this.requests.get(number).push({ ids: ids.join("+"), bytes: body.length });
    const message = { role: "assistant", content: `got ${ids.join("+")}` };
    const answer = JSON.stringify({ id: "x", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message, finish_reason: "stop" }] });
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${answer.length}\r\n\r\n${method === "HEAD" ? "" : answer}`);
  }

  // Returns null if more bytes must come.
  #read(text) {
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) return null;
    const [line, ...fields] = text.slice(0, end).split("\r\n");
    const parts = /^([A-Za-z()-]+) \S+ HTTP\/1\.[01]$/.exec(line);
    if (!parts) return { fault: "a request line" };
    if (this.isStrict && fields.some((field) => !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+:/.test(field))) return { fault: "a field" };
    const all = (name) => fields.filter((field) => field.toLowerCase().startsWith(`${name}:`)).map((field) => field.slice(name.length + 1).trim());
    const lengths = all("content-length"), codings = all("transfer-encoding");
    if (this.isStrict && lengths.length + codings.length > 1) return { fault: "a second length or coding" };
    if (lengths.some((each) => !/^\d+$/.test(each))) return { fault: "a length" };
    if (codings.length && codings.join().toLowerCase().replace(this.isStrict ? "" : /[, ]/g, "") !== "chunked") return { fault: "a coding" };
    const begin = end + 4, method = parts[1];
    if (codings.length) return this.#readChunks(text, begin, method);
    const bytes = begin + Number(lengths[0] ?? 0);
    return text.length < bytes ? null : { bytes, method, head: text.slice(0, begin), body: text.slice(begin, bytes) };
  }

  #readChunks(text, begin, method) {
    let body = "", at = begin;
    for (;;) {
      const end = text.indexOf("\r\n", at);
      if (end < 0) return null;
      const size = text.slice(at, end);
      if (!/^[0-9a-f]{1,8}$/i.test(size)) return { fault: "a chunk" };
      at = end + 2;
      const bytes = parseInt(size, 16);
      if (bytes === 0) break;
      if (text.length < at + bytes + 2) return null;
      if (text.slice(at + bytes, at + bytes + 2) !== "\r\n") return { fault: "the end of a chunk" };
      body += text.slice(at, at + bytes);
      at += bytes + 2;
    }
    for (;;) {
      const end = text.indexOf("\r\n", at);
      if (end < 0) return null;
      if (end === at) return { bytes: at + 2, method, head: text.slice(0, begin), body };
      at = end + 2;
    }
  }

  /// The requests that it got with this number in the first id.
  of(id) {
    return this.requests.get(id.slice(1)) ?? [];
  }

  stop() {
    this.server.close();
  }
}

/// nginx or HAProxy.
class Proxy {
  static async start(command, ports) {
    const proxy = new Proxy();
    proxy.log = "";
    proxy.process = spawn(command[0], command.slice(1), { env: kSystemEnv, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [proxy.process.stdout, proxy.process.stderr]) stream.setEncoding("utf8").on("data", (text) => (proxy.log += text));
    proxy.exited = new Promise((done) => proxy.process.on("close", done));
    let over = false;
    proxy.exited.then(() => (over = true));
    const end = Date.now() + kStartMsMax;
    while (!over && Date.now() < end && !(await Promise.all(ports.map(isOpen))).every(Boolean)) await pause(10);
    assert.ok(!over && Date.now() < end, `${command[0]} does not listen; its log:\n${proxy.log}`);
    return proxy;
  }

  async stop() {
    this.process.kill("SIGTERM");
    await this.exited;
  }
}

const behindAll = (all) => [...new Set(all.map(([, to]) => to))];

/// Starts nginx on ports, each given as [port, port of the server behind it]. It lets pass what it can.
export async function startNginx(folder, ports) {
  const upstream = (to) => `upstream to${to} { server 127.0.0.1:${to}; keepalive 64; keepalive_timeout 5s; }\n`;
  const server = ([port, to]) =>
    `server { listen 127.0.0.1:${port}; location / { proxy_pass http://to${to}; proxy_http_version 1.1; proxy_set_header Connection ""; } }\n`;
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder}/${name};`).join(" ");
  await writeFile(join(folder, "nginx.conf"), `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr crit;
${process.getuid() === 0 ? "user root;" : ""}
events { worker_connections 4096; }
http { access_log off; ${temporary} client_max_body_size 8m;
client_header_timeout 2s; client_body_timeout 2s; keepalive_timeout 2s; lingering_timeout 300ms; lingering_time 1s;
ignore_invalid_headers off; underscores_in_headers on; proxy_request_buffering off; merge_slashes off;
${behindAll(ports).map(upstream).join("")}${ports.map(server).join("")}}
`);
  return Proxy.start(["nginx", "-e", "stderr", "-p", folder, "-c", join(folder, "nginx.conf")], ports.map(([port]) => port));
}

/// `loose`: ports on which HAProxy accepts requests that it finds invalid.
export async function startHaproxy(folder, strict, loose) {
  const server = (more) => ([port, to]) => `
frontend f${port}
    bind 127.0.0.1:${port}
    ${more}
    default_backend b${to}`;
  const backend = (to) => `
backend b${to}
    http-reuse always
    server s 127.0.0.1:${to}`;
  await writeFile(join(folder, "haproxy.cfg"), `global
    maxconn 4000
    nbthread 1
defaults
    mode http
    timeout connect 5s
    timeout server 10s
    timeout client 2s
    timeout http-request 2s
    timeout http-keep-alive 2s
${behindAll([...strict, ...loose]).map(backend).join("")}${strict.map(server("")).join("")}${loose.map(server("option accept-invalid-http-request")).join("")}
`);
  return Proxy.start(["haproxy", "-db", "-f", join(folder, "haproxy.cfg")], [...strict, ...loose].map(([port]) => port));
}
