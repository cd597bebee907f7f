// Adapts the configurations of deploy/ for tests: the same files, with the addresses of existing servers.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";

import { parse } from "yaml";

export const kDeploy = resolve("../../deploy"); // relative to the folder of tests/e2e/run

/// For Daemon.start: reads `name` in deploy/, and replaces each endpoint by the port that `ports` gives for it.
/// `change` can make further changes.
export async function deployed(name, ports, change = () => {}) {
  const text = await readFile(`${kDeploy}/${name}`, "utf8");
  return (port, managementPort) => {
    const configuration = parse(text, { merge: true });
    assert.equal(configuration.listeners.length, 1);
    Object.assign(configuration.listeners[0], { address: "127.0.0.1", port });
    for (const model of configuration.providers.models) {
      for (const ref of model.backend_refs) {
        assert.ok(ports[ref.endpoint], `${name}: ${ref.endpoint} is not among ${Object.keys(ports)}`);
        ref.endpoint = `127.0.0.1:${ports[ref.endpoint]}`;
      }
    }
    configuration.global ??= {};
    configuration.global.services ??= {};
    configuration.global.services.management_api = { bind_address: "127.0.0.1", port: managementPort };
    change(configuration);
    return JSON.stringify(configuration);
  };
}
