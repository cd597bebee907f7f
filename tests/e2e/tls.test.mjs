// Tests TLS on the management listener and on the listener for Envoy, with curl and gRPC's own client.
// tests/router/net/tls_test.cc tests the listeners for clients.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import * as grpc from "@grpc/grpc-js";

import { issue, makeAuthority } from "./certificates.mjs";
import { Daemon, freePorts } from "./daemon.mjs";
import { head, Processor } from "./envoy.mjs";

const kCurlPeerUnknown = 60; // CURLE_PEER_FAILED_VERIFICATION
const { UNAVAILABLE, OK } = grpc.status;

let folder;
const path = (name) => join(folder, name);
const pem = (name) => readFile(path(name));

const configuration = (envoyPort, clients = "") => (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: m}
  models: [{name: m, backend_refs: [{name: m, type: echo}]}]
routing:
  signals: {keywords: [{name: greeting, keywords: [hello]}]}
  decisions:
    - name: greet
      rules: {type: keyword, name: greeting}
      modelRefs: [{model: m}]
      plugins: [{type: fast_response, configuration: {message: "hey"}}]
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}, tls_cert_path: ${path("server.pem")}, tls_key_path: ${path("server.key")}}
    ext_proc: {enabled: true, port: ${envoyPort}, tls_cert_path: ${path("server.pem")}, tls_key_path: ${path("server.key")}${clients}}
`;

const start = async (envoyPort, clients) => Daemon.start(configuration(envoyPort, clients), writeFile, await pem("ca.pem"));

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "signalbox-tls-"));
  makeAuthority(folder, "ca");
  makeAuthority(folder, "stranger");
  issue(folder, "server", "ca", "DNS:localhost,IP:127.0.0.1");
  issue(folder, "envoy", "ca", "DNS:envoy.test");
  issue(folder, "impostor", "stranger", "DNS:envoy.test");
});

after(async () => rm(folder, { recursive: true }));

/// Returns what Envoy receives after it opens a stream.
async function greeting(port, credentials) {
  const processor = new Processor(port, {}, credentials);
  try {
    const stream = processor.open();
    const headers = head({ ":method": "POST", ":path": "/v1/chat/completions", "content-type": "application/json" });
    const first = await stream.ask({ request_headers: headers });
    if (first.over) return first.over.code;
    const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content: "hello" }] });
    const answer = await stream.ask({ request_body: { body: Buffer.from(body), end_of_stream: true } });
    assert.match(answer.immediate_response.body.toString(), /"hey"/);
    return (await stream.end()).code;
  } finally {
    processor.close();
  }
}

async function trusting(authorityFile, own) {
  const keys = own ? [await pem(`${own}.key`), await pem(`${own}.pem`)] : [];
  return grpc.credentials.createSsl(await pem(authorityFile), ...keys);
}

test("the management API answers over HTTPS, and refuses plain text", async () => {
  const [envoyPort] = await freePorts(1);
  const daemon = await start(envoyPort);
  try {
    const curl = (url, ca = "ca.pem") => promisify(execFile)("curl", ["-s", "-S", "-i", "--cacert", path(ca), url], { encoding: "utf8" });
    const { stdout } = await curl(`${daemon.managementUrl}/config/status`);
    assert.match(stdout, /^HTTP\/1\.1 200 /);
    assert.match(stdout, /"generation":1/);
    const byName = await curl(daemon.managementUrl.replace("127.0.0.1", "localhost"));
    assert.match(byName.stdout, /<!doctype html>/i);
    await assert.rejects(curl(`${daemon.managementUrl}/health`, "stranger.pem"), { code: kCurlPeerUnknown });
    await assert.rejects(fetch(`${daemon.managementUrl.replace("https", "http")}/health`));
  } finally {
    await daemon.stop();
  }
});

test("Envoy's stream runs over TLS, and plain text is refused", async () => {
  const [envoyPort] = await freePorts(1);
  const daemon = await start(envoyPort);
  try {
    assert.equal(await greeting(envoyPort, await trusting("ca.pem")), OK);
    assert.equal(await greeting(envoyPort, await trusting("stranger.pem")), UNAVAILABLE);
    assert.equal(await greeting(envoyPort, grpc.credentials.createInsecure()), UNAVAILABLE);
    assert.equal(await greeting(envoyPort, await trusting("ca.pem")), OK);
  } finally {
    await daemon.stop();
  }
});

test("with tls_client_ca_path only clients with a certificate of that authority connect", async () => {
  const [envoyPort] = await freePorts(1);
  const daemon = await start(envoyPort, `, tls_client_ca_path: ${path("ca.pem")}`);
  try {
    assert.equal(await greeting(envoyPort, await trusting("ca.pem", "envoy")), OK);
    assert.equal(await greeting(envoyPort, await trusting("ca.pem")), UNAVAILABLE);
    assert.equal(await greeting(envoyPort, await trusting("ca.pem", "impostor")), UNAVAILABLE);
  } finally {
    await daemon.stop();
  }
});
