// A double of a Kubernetes API server, as a controller sees it: lists in pages, watches that resume from a version,
// bookmarks, 410 for a version that is too old, a bearer token, and patches of a status. It was not compared with a
// real server, so these tests do not cover its other features (admission, RBAC, its own limits).

import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";

const kGroup = "/apis/vllm.ai/v1alpha1/namespaces/";

export class ApiServer {
  /// `tls` {key, cert} enables HTTPS.
  static async start({ token = "secret", namespace = "models", port = 0, tls } = {}) {
    const server = new ApiServer();
    Object.assign(server, { token, namespace, version: 100, oldest: 0, objects: new Map(), watches: new Set() });
    Object.assign(server, { counts: { list: 0, watch: 0, patch: 0, gone: 0, refused: 0 }, log: [] });
    const answer = (request, response) => server.#answer(request, response);
    server.server = tls ? createTlsServer(tls, answer) : createServer(answer);
    await server.listen(port);
    server.scheme = tls ? "https" : "http";
    return server;
  }

  async listen(port) {
    await new Promise((done) => this.server.listen(port, "127.0.0.1", done));
    this.port = this.server.address().port;
  }
  get url() {
    return `${this.scheme}://127.0.0.1:${this.port}`;
  }

  /// Creates a resource, or changes its spec.
  put(plural, name, spec) {
    const key = `${plural}/${name}`;
    const known = this.objects.get(key);
    const metadata = { name, namespace: this.namespace, generation: (known?.metadata.generation ?? 0) + 1, managedFields: [{ manager: "kubectl" }] };
    this.#store(plural, known ? "MODIFIED" : "ADDED", { apiVersion: "vllm.ai/v1alpha1", kind: plural, metadata, spec, status: known?.status });
  }
  remove(plural, name) {
    const object = this.objects.get(`${plural}/${name}`);
    this.objects.delete(`${plural}/${name}`);
    this.#tell(plural, "DELETED", { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.version) } });
  }
  status(plural, name) {
    return this.objects.get(`${plural}/${name}`).status;
  }
  /// Forgets earlier events, as compaction does.
  compact() {
    this.log = [];
    this.oldest = ++this.version;
  }
  bookmark() {
    ++this.version;
    for (const { plural, response } of this.watches)
      this.#write(response, "BOOKMARK", { kind: plural, metadata: { resourceVersion: String(this.version) } });
  }
  /// Ends all watches, either cleanly, as a server does from time to time, or in the middle of a line.
  endWatches(broken = false) {
    for (const { response } of this.watches) {
      if (!broken) response.end();
      else response.write('{"type":"MODI', () => response.destroy());
    }
    this.watches.clear();
  }

  #store(plural, type, object) {
    object.metadata.resourceVersion = String(++this.version);
    this.objects.set(`${plural}/${object.metadata.name}`, object);
    this.#tell(plural, type, object);
  }
  #tell(plural, type, object) {
    this.log.push({ plural, type, object, version: this.version });
    for (const watch of this.watches) if (watch.plural === plural) this.#write(watch.response, type, object);
  }
  #write(response, type, object) {
    response.write(`${JSON.stringify({ type, object })}\n`);
  }
  #refuse(response, code, reason) {
    response.writeHead(code, { "content-type": "application/json" });
    response.end(JSON.stringify({ kind: "Status", status: "Failure", reason, code }));
  }

  async #answer(request, response) {
    let body = "";
    for await (const part of request.setEncoding("utf8")) body += part;
    if (request.headers.authorization !== `Bearer ${this.token}`) {
      ++this.counts.refused;
      return this.#refuse(response, 401, "Unauthorized");
    }
    const url = new URL(request.url, "http://x");
    const [namespace, plural, name, sub] = url.pathname.slice(kGroup.length).split("/");
    if (!url.pathname.startsWith(kGroup) || namespace !== this.namespace) return this.#refuse(response, 404, "NotFound");
    if (request.method === "PATCH") return this.#patch(request, response, plural, name, sub, body);
    if (url.searchParams.get("watch") === "true") return this.#watch(response, plural, Number(url.searchParams.get("resourceVersion")));
    ++this.counts.list;
    const all = [...this.objects].filter(([key]) => key.startsWith(`${plural}/`)).map(([, object]) => object);
    // Returns one item per page, whatever the request, to detect clients that read only one page.
    const from = Number(url.searchParams.get("continue") ?? 0);
    const metadata = { resourceVersion: String(this.version), ...(from + 1 < all.length ? { continue: String(from + 1) } : {}) };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ kind: `${plural}List`, metadata, items: all.slice(from, from + 1) }));
  }

  #watch(response, plural, since) {
    ++this.counts.watch;
    response.writeHead(200, { "content-type": "application/json" });
    if (since < this.oldest) {
      ++this.counts.gone;
      this.#write(response, "ERROR", { kind: "Status", status: "Failure", reason: "Expired", message: `too old resource version: ${since}`, code: 410 });
      return response.end();
    }
    response.flushHeaders();
    for (const event of this.log) if (event.plural === plural && event.version > since) this.#write(response, event.type, event.object);
    const watch = { plural, response };
    this.watches.add(watch);
    response.on("close", () => this.watches.delete(watch));
  }

  #patch(request, response, plural, name, sub, body) {
    const object = this.objects.get(`${plural}/${name}`);
    if (!object || sub !== "status" || request.headers["content-type"] !== "application/merge-patch+json")
      return this.#refuse(response, object ? 415 : 404, "Refused");
    ++this.counts.patch;
    const changed = { ...object, metadata: { ...object.metadata }, status: { ...object.status, ...JSON.parse(body).status } };
    this.#store(plural, "MODIFIED", changed);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(changed));
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}
