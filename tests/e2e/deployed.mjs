// The configurations of deploy/, as tests run them: the same file, with the places of servers that exist.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";

import { parse } from "yaml";

export const kDeploy = resolve("../../deploy"); // of the folder that tests/e2e/run changes to

/// For Daemon.start: `name` under deploy/, each of its endpoints at the port that `ports` has for it. `change` may do more.
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
