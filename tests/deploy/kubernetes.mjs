// Checks manifests: they must match the types of Kubernetes, must have no unknown fields, and a pod with Signalbox must
// follow the security rules.
//
// The types come as compiled validators, which ignore unknown fields. We therefore pass each validator an object that
// records the members that are read; a member that no validator reads is not a field of the type.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";

const kFolder = dirname(createRequire(import.meta.url).resolve("kubernetes-models/package.json"));
const kTypes = {
  "v1 ConfigMap": "IoK8sApiCoreV1ConfigMap",
  "v1 PersistentVolumeClaim": "IoK8sApiCoreV1PersistentVolumeClaim",
  "v1 Service": "IoK8sApiCoreV1Service",
  "v1 ServiceAccount": "IoK8sApiCoreV1ServiceAccount",
  "apiextensions.k8s.io/v1 CustomResourceDefinition": "IoK8sApiextensionsApiserverPkgApisApiextensionsV1CustomResourceDefinition",
  "apps/v1 DaemonSet": "IoK8sApiAppsV1DaemonSet",
  "apps/v1 Deployment": "IoK8sApiAppsV1Deployment",
  "autoscaling/v2 HorizontalPodAutoscaler": "IoK8sApiAutoscalingV2HorizontalPodAutoscaler",
  "networking.k8s.io/v1 NetworkPolicy": "IoK8sApiNetworkingV1NetworkPolicy",
  "policy/v1 PodDisruptionBudget": "IoK8sApiPolicyV1PodDisruptionBudget",
  "rbac.authorization.k8s.io/v1 Role": "IoK8sApiRbacV1Role",
  "rbac.authorization.k8s.io/v1 RoleBinding": "IoK8sApiRbacV1RoleBinding",
};

// Wraps a value so that `seen` records the path of every member that is read.
function noted(value, path, seen) {
  if (value === null || typeof value !== "object") return value;
  return new Proxy(value, {
    get(target, key) {
      if (typeof key === "symbol" || !Object.hasOwn(target, key)) return target[key];
      seen.add(`${path}/${key}`);
      return noted(target[key], `${path}/${key}`, seen);
    },
  });
}

function* paths(value, path = "") {
  if (value === null || typeof value !== "object") return;
  for (const key of Object.keys(value)) {
    yield `${path}/${key}`;
    yield* paths(value[key], `${path}/${key}`);
  }
}

/// Returns the faults of a manifest, one line each.
export async function faults(manifest) {
  const type = `${manifest.apiVersion} ${manifest.kind}`;
  if (!kTypes[type]) return [`${type}: not a type that the tests know`];
  const { validate } = await import(pathToFileURL(`${kFolder}/_schemas/${kTypes[type]}.mjs`));
  const seen = new Set();
  const valid = validate(noted(manifest, "", seen));
  const out = valid ? [] : validate.errors.map((error) => `${error.instancePath} ${error.message ?? error.keyword} ${JSON.stringify(error.params)}`);
  if (!valid) return out;
  const unknown = [];
  for (const path of paths(manifest)) {
    // To the validator, nested schemas are arbitrary JSON. Their faults are found when they are compiled.
    if (path.includes("/openAPIV3Schema/")) continue;
    if (!seen.has(path) && !unknown.some((above) => path.startsWith(`${above}/`))) unknown.push(path);
  }
  return unknown.map((path) => `${path}: no such field`);
}

/// Converts a quantity to bytes or processors.
function amount(text) {
  const [, number, unit] = /^([0-9.]+)(m|Ki|Mi|Gi|)$/.exec(text) ?? assert.fail(`a quantity: ${text}`);
  return Number(number) * { m: 1e-3, "": 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 }[unit];
}

/// Checks the requirements of the restricted profile of Kubernetes' pod security standards, and those of this router.
export function checkPod(spec, config) {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const router = containers.find((each) => each.name === "signalbox");
  assert.ok(router, "no container is called signalbox");
  assert.ok(!spec.hostNetwork && !spec.hostPID && !spec.hostIPC);
  for (const each of containers) {
    const context = { ...spec.securityContext, ...each.securityContext };
    assert.equal(context.runAsNonRoot, true, each.name);
    assert.ok(context.runAsUser > 0, each.name);
    assert.equal(context.allowPrivilegeEscalation, false, each.name);
    assert.equal(context.readOnlyRootFilesystem, true, each.name);
    assert.deepEqual(context.capabilities, { drop: ["ALL"] }, each.name);
    assert.equal(context.seccompProfile?.type, "RuntimeDefault", each.name);
    assert.ok(amount(each.resources.requests.cpu) > 0 && amount(each.resources.requests.memory) > 0, each.name);
    assert.ok(amount(each.resources.limits.memory) >= amount(each.resources.requests.memory), each.name);
    assert.equal(each.resources.limits.cpu, undefined, "a limit of the processor stops requests for the rest of a period");
  }

  const ports = Object.fromEntries(router.ports.map((port) => [port.name, port.containerPort]));
  const { management_api: api, observability } = config.global.services;
  assert.equal(ports.management, api.port);
  assert.equal(ports.metrics, observability.metrics.port);
  assert.equal(api.auth.mode, "bearer", "the management API is open to the cluster");
  const [listener] = config.listeners;
  if (listener.address === "0.0.0.0") assert.equal(ports.openai, listener.port);
  else assert.equal(ports.openai, undefined, "nobody else reaches the loopback");

  const isSidecar = router.restartPolicy === "Always"; // the other containers wait for its startup probe
  for (const [probe, path] of [["startupProbe", isSidecar ? "/ready" : "/health"], ["readinessProbe", "/ready"], ["livenessProbe", "/health"]])
    assert.deepEqual(router[probe].httpGet, { path, port: "management" }, probe);
  const { failureThreshold, periodSeconds } = router.startupProbe;
  assert.ok(failureThreshold * periodSeconds >= (isSidecar ? 3600 : 60), "a router that waits is not started again");
  const seconds = parseInt(config.global.services.http.drain_timeout) + (router.lifecycle?.preStop.sleep.seconds ?? 0);
  assert.ok(spec.terminationGracePeriodSeconds > seconds, "killed before it has drained");

  const file = router.args[router.args.indexOf("--config") + 1];
  const mount = router.volumeMounts.find((each) => file.startsWith(`${each.mountPath}/`));
  assert.equal(mount.subPath, undefined, "a file mounted by subPath never changes");
  assert.equal(mount.readOnly, true);
  return spec.volumes.find((each) => each.name === mount.name).configMap.name;
}
