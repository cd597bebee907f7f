// A server that speaks the Hugging Face hub's HTTP: metadata of a repository, `resolve` with a redirect to another host
// for large files, ranges, etags, error headers. Faults can be switched on.

import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { once } from "node:events";

const kLargeFrom = 2000; // bytes; larger files are on the other host
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
const gitSha = (bytes) => createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");

async function listen(handler, host) {
  const server = createServer(handler);
  server.listen(0, host);
  await once(server, "listening");
  return { server, url: `http://${host}:${server.address().port}` };
}

export class Hub {
  repositories = {}; // id to {files, commits: {revision: sha}, gated, private}
  requests = []; // {host: "hub" | "store", url, token, range, status}
  fault = {}; // see #serve and #list
  static token = "hf_secretToken123";

  static async start() {
    const hub = new Hub();
    hub.hub = await listen((request, response) => hub.#onHub(request, response), "127.0.0.1");
    hub.store = await listen((request, response) => hub.#onStore(request, response), "127.0.0.2");
    return hub;
  }
  get url() { return this.hub.url; }
  stop() { this.hub.server.closeAllConnections(); this.hub.server.close(); this.store.server.closeAllConnections(); this.store.server.close(); }

  add(id, files, options = {}) {
    const bytes = Object.fromEntries(Object.entries(files).map(([path, content]) => [path, Buffer.from(content)]));
    const commit = options.commit ?? createHash("sha1").update(id).update(JSON.stringify(Object.keys(files))).digest("hex");
    this.repositories[id] = { files: bytes, commit, ...options };
    return commit;
  }
  seen(host) { return this.requests.filter((request) => request.host === host); }

  #record(host, request) {
    const seen = { host, url: request.url, token: (request.headers.authorization ?? "").replace("Bearer ", ""), range: request.headers.range };
    this.requests.push(seen);
    return seen;
  }

  #refuse(response, status, code, message, headers = {}) {
    response.writeHead(status, { "X-Error-Code": code, "X-Error-Message": message, ...headers }).end(`{"error":"${message}"}`);
  }

  // Finds a repository and its commit. If they may not be read, sends a refusal and returns undefined.
  #find(id, revision, token, response) {
    const found = this.repositories[id];
    if (!found || (found.private && token !== Hub.token)) return void this.#refuse(response, 401, "RepoNotFound", "Invalid username or password.");
    if (found.gated && token !== Hub.token) {
      return void this.#refuse(response, token ? 403 : 401, "GatedRepo", `Access to model ${id} is restricted.`);
    }
    if (revision !== "main" && revision !== found.commit && !(found.revisions ?? []).includes(revision)) {
      return void this.#refuse(response, 404, "RevisionNotFound", `Invalid rev id: ${revision}`);
    }
    return found;
  }

  #listing(id, found) {
    const siblings = Object.entries(found.files).map(([rfilename, bytes]) => bytes.length > kLargeFrom
      ? { rfilename, size: bytes.length, blobId: gitSha(bytes), lfs: { sha256: sha256(bytes), size: bytes.length, pointerSize: 134 } }
      : { rfilename, size: bytes.length, blobId: gitSha(bytes) });
    const listing = { _id: "1", id, sha: found.commit, gated: found.gated ?? false, cardData: { license: "apache-2.0" }, siblings };
    return found.edit ? found.edit(listing) : listing;
  }

  #onHub(request, response) {
    const { token } = this.#record("hub", request);
    if (this.fault.busy > 0) {
      --this.fault.busy;
      return this.#refuse(response, 429, "", "Too many requests", { "Retry-After": this.fault.retryAfter ?? "0" });
    }
    if (this.fault.broken > 0) {
      --this.fault.broken;
      return response.writeHead(503).end("later");
    }
    const path = request.url.split("?")[0];
    const listed = /^\/api\/models\/(.+)\/revision\/([^/]+)$/.exec(path);
    if (listed) {
      const [, id, revision] = listed.map(decodeURIComponent);
      const renamed = this.repositories[id]?.renamed;
      if (renamed) return response.writeHead(307, { Location: request.url.replace(id, renamed) }).end();
      const found = this.#find(id, revision, token, response);
      if (found) response.writeHead(200, { "Content-Type": "application/json" }).end(this.fault.json ?? JSON.stringify(this.#listing(id, found)));
      return;
    }
    const [, id, revision, file] = (/^\/(.+)\/resolve\/([^/]+)\/(.+)$/.exec(path) ?? []).map(decodeURIComponent);
    const found = id && this.#find(id, revision, token, response);
    if (!found) return void (id || response.writeHead(404).end());
    const bytes = found.files[file];
    if (!bytes) return this.#refuse(response, 404, "EntryNotFound", "Entry not found");
    if (bytes.length <= kLargeFrom) return this.#serve(request, response, bytes, { ETag: `"${gitSha(bytes)}"`, "X-Repo-Commit": found.commit });
    const etag = this.fault.etag ?? sha256(bytes);
    response.writeHead(302, {
      Location: `${this.store.url}/${encodeURIComponent(id)}/${encodeURIComponent(file)}?signature=a%2Fb`, "X-Repo-Commit": found.commit,
      "X-Linked-Size": String(this.fault.linkedSize ?? bytes.length), "X-Linked-Etag": `"${etag}"`,
    }).end("Found. Redirecting");
  }

  #onStore(request, response) {
    this.#record("store", request);
    const [, id, file] = request.url.split("?")[0].split("/").map(decodeURIComponent);
    this.#serve(request, response, this.fault.bytes?.[file] ?? this.repositories[id].files[file], {});
  }

  // Serves bytes or a range of them. fault.cut: the connection ends after so many bytes, once for each number in the list.
  #serve(request, response, bytes, headers) {
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
    if (from > 0 && from >= bytes.length) return response.writeHead(416).end();
    const part = from > 0 && !this.fault.noRanges ? bytes.subarray(from) : bytes;
    const partial = from > 0 && !this.fault.noRanges;
    response.writeHead(partial ? 206 : 200, {
      ...headers, "Content-Length": part.length, ...(partial ? { "Content-Range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` } : {}),
    });
    const cut = bytes.length > kLargeFrom ? this.fault.cut?.shift() : undefined;
    if (cut === undefined) return response.end(part);
    response.write(part.subarray(0, cut), () => setTimeout(() => (this.fault.hang ? this.fault.hang() : response.socket.destroy()), 50));
  }
}
