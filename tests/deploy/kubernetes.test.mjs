// Tests the manifests as a cluster would receive them: the overlays built by kustomize, and the chart rendered by Go's
// own template engine. Each manifest is checked against the types of Kubernetes and the rules for pods; the program
// itself checks the configurations in them.
//
// The tests need no cluster, and do not run Helm: its renderer is the same template engine with extra functions, and
// the chart uses none of those.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { webcrypto } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";

import Ajv from "ajv";
import { parse, parseAllDocuments } from "yaml";

import { checkPod, faults } from "./kubernetes.mjs";

globalThis.crypto ??= webcrypto; // the template engine needs it; in Node.js 18 it is elsewhere
const { parse: render } = await import("@evertdespiegeleer/go-template");

const kDeploy = resolve("../../deploy");
const kWorkloads = new Set(["Deployment", "DaemonSet"]);

function kustomizeMissing() {
  const done = spawnSync("kubectl", ["version", "--client"], { encoding: "utf8" });
  if (done.status !== 0) return "kubectl is not installed";
  const major = Number(/Kustomize Version: v(\d+)/.exec(done.stdout)?.[1] ?? 0);
  return major < 5 && "this kubectl's kustomize is older than 5";
}

const documents = (text) => parseAllDocuments(text).map((each) => each.toJS()).filter(Boolean);

function build(folder) {
  const done = spawnSync("kubectl", ["kustomize", folder], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stderr);
  assert.equal(done.stderr, "", "kustomize warns");
  return documents(done.stdout);
}

async function checkConfiguration(text) {
  const folder = await mkdtemp(join(tmpdir(), "signalbox-deploy-"));
  assert.ok(process.env.SIGNALBOX, "SIGNALBOX: expected the path of the program");
  await writeFile(join(folder, "config.yaml"), text);
  const done = spawnSync(process.env.SIGNALBOX, ["config", "check", "--without-keys", join(folder, "config.yaml")], { encoding: "utf8" });
  await rm(folder, { recursive: true });
  assert.equal(done.status, 0, done.stdout + done.stderr);
}

const matches = (selector, labels) => Object.entries(selector.matchLabels ?? selector).every(([key, value]) => labels[key] === value);

// Checks all manifests that are applied together.
async function checkAll(manifests) {
  for (const each of manifests) assert.deepEqual(await faults(each), [], `${each.kind} ${each.metadata.name}`);
  const names = manifests.map((each) => `${each.kind} ${each.metadata.name}`);
  assert.equal(new Set(names).size, names.length);
  const of = (kind) => manifests.filter((each) => each.kind === kind);
  const workloads = manifests.filter((each) => kWorkloads.has(each.kind));
  assert.equal(workloads.length, 1);
  const { spec } = workloads[0];
  const pod = spec.template;
  assert.ok(matches(spec.selector, pod.metadata.labels));

  const [config] = of("ConfigMap");
  await checkConfiguration(config.data["config.yaml"]);
  assert.equal(checkPod(pod.spec, parse(config.data["config.yaml"])), config.metadata.name);

  const ports = new Set([...(pod.spec.initContainers ?? []), ...pod.spec.containers].flatMap((each) => each.ports ?? []).map((port) => port.name));
  for (const each of of("Service")) {
    assert.ok(matches(each.spec.selector, pod.metadata.labels));
    for (const port of each.spec.ports) assert.ok(ports.has(port.targetPort), port.targetPort);
  }
  for (const each of of("NetworkPolicy")) {
    assert.ok(matches(each.spec.podSelector, pod.metadata.labels), "selects nobody");
    for (const { ports: opened } of each.spec.ingress ?? []) {
      for (const { port } of opened) assert.ok(ports.has(port) && port !== "management", port);
    }
  }
  for (const each of of("PodDisruptionBudget")) assert.ok(matches(each.spec.selector, pod.metadata.labels));
  for (const { spec: scaler } of of("HorizontalPodAutoscaler")) {
    assert.equal(scaler.scaleTargetRef.name, workloads[0].metadata.name);
    assert.equal(spec.replicas, undefined, "whoever applies this would undo what the autoscaler did");
    assert.equal(scaler.metrics[0].pods.metric.name, "signalbox_decision_queue_requests");
  }
  return { of, workload: workloads[0], pod: pod.spec };
}

describe("kustomize", { skip: kustomizeMissing() }, () => {
  const overlay = (name) => build(join(kDeploy, "kubernetes/overlays", name));

  test("kustomize builds a gateway", async () => {
    const { of, workload } = await checkAll(overlay("gateway"));
    assert.equal(workload.kind, "Deployment");
    for (const kind of ["Service", "NetworkPolicy", "PodDisruptionBudget", "HorizontalPodAutoscaler", "ServiceAccount"])
      assert.equal(of(kind).length, 1, kind);
  });

  test("kustomize builds one router per node", async () => {
    const { of, workload } = await checkAll(overlay("per-node"));
    assert.equal(workload.kind, "DaemonSet");
    assert.equal(of("Service")[0].spec.internalTrafficPolicy, "Local");
    assert.equal(of("HorizontalPodAutoscaler").length + of("PodDisruptionBudget").length, 0);
  });

  test("kustomize puts a sidecar before an application's containers", async () => {
    const { pod } = await checkAll(overlay("sidecar"));
    const [sidecar] = pod.initContainers;
    assert.equal(sidecar.restartPolicy, "Always");
    assert.deepEqual(pod.containers.map((each) => each.name), ["app"]);
  });

  test("kustomize adds models and access to custom resources", async (t) => {
    // kustomize requires relative paths, so the folder lies beside copies of the files that it names.
    const copy = await mkdtemp(join(tmpdir(), "signalbox-deploy-"));
    t.after(() => rm(copy, { recursive: true }));
    await cp(kDeploy, copy, { recursive: true });
    const folder = join(copy, "kubernetes/both");
    await mkdir(folder);
    const components = ["models", "crd-access"].map((name) => `../components/${name}`);
    for (const base of ["gateway", "per-node"]) {
      await writeFile(join(folder, "kustomization.yaml"), JSON.stringify({ resources: [`../overlays/${base}`], components }));
      const manifests = build(folder);
      const { of, pod } = await checkAll(manifests);
      assert.equal(of("RoleBinding")[0].subjects[0].name, pod.serviceAccountName);
      assert.equal(pod.automountServiceAccountToken, true);
      assert.ok(pod.containers[0].volumeMounts.some((each) => each.mountPath === "/var/lib/signalbox/models"));
    }
  });
});

test("a field that is misspelt, or of another type, is found", async () => {
  const [manifest] = documents(await readFile(join(kDeploy, "kubernetes/base/deployment.yaml"), "utf8"));
  assert.deepEqual(await faults(manifest), []);
  const [container] = manifest.spec.template.spec.containers;
  container.securityContext.readOnlyRootFileSystem = true;
  assert.deepEqual(await faults(manifest), ["/spec/template/spec/containers/0/securityContext/readOnlyRootFileSystem: no such field"]);
  delete container.securityContext.readOnlyRootFileSystem;
  container.readinessProbe.periodSeconds = "five";
  assert.match((await faults(manifest)).join(), /readinessProbe\/periodSeconds/);
});

describe("the chart", () => {
  const folder = join(kDeploy, "helm/signalbox");

  // `more`: values that differ from the defaults, merged as Helm merges them.
  const merged = (into, more) => {
    for (const [key, value] of Object.entries(more)) {
      const both = [into[key], value].every((each) => each !== null && typeof each === "object" && !Array.isArray(each));
      into[key] = both ? merged({ ...into[key] }, value) : value;
    }
    return into;
  };
  async function rendered(more = {}) {
    const values = merged(parse(await readFile(join(folder, "values.yaml"), "utf8")), more);
    const chart = parse(await readFile(join(folder, "Chart.yaml"), "utf8"));
    const context = {
      Values: values,
      Chart: { Name: chart.name, Version: chart.version, AppVersion: `${chart.appVersion}` },
      Release: { Name: "front", Namespace: "edge", Service: "Helm" },
    };
    const names = await readFile(join(folder, "templates/_names.tpl"), "utf8");
    const out = [];
    for (const file of (await readdir(join(folder, "templates"))).filter((name) => name.endsWith(".yaml"))) {
      const text = await render(names + (await readFile(join(folder, "templates", file), "utf8")), context);
      out.push(...documents(text));
    }
    for (const each of out) assert.equal(each.metadata.namespace, "edge");
    return out;
  }

  test("the chart renders the same gateway as the manifests", async (t) => {
    const { of, pod } = await checkAll(await rendered());
    for (const kind of ["Service", "NetworkPolicy", "PodDisruptionBudget", "HorizontalPodAutoscaler", "ServiceAccount"])
      assert.equal(of(kind).length, 1, kind);
    if (kustomizeMissing()) return t.diagnostic("not compared: there is no kustomize");
    const gateway = build(join(kDeploy, "kubernetes/overlays/gateway"));
    const other = gateway.find((each) => each.kind === "Deployment").spec.template.spec;
    const [ours] = pod.containers;
    delete ours.imagePullPolicy;
    assert.deepEqual(ours, other.containers[0]);
    assert.deepEqual(pod.securityContext, other.securityContext);
    for (const kind of ["HorizontalPodAutoscaler", "NetworkPolicy"]) {
      const [{ spec: mine }, { spec: theirs }] = [of(kind)[0], gateway.find((each) => each.kind === kind)];
      for (const key of ["metrics", "behavior", "ingress", "egress"]) assert.deepEqual(mine[key], theirs[key], key);
    }
  });

  test("the chart renders every option", async () => {
    const node = await checkAll(await rendered({ kind: "DaemonSet" }));
    assert.equal(node.workload.kind, "DaemonSet");
    assert.equal(node.of("Service")[0].spec.internalTrafficPolicy, "Local");
    assert.equal(node.of("HorizontalPodAutoscaler").length + node.of("PodDisruptionBudget").length, 0);

    const { of, workload, pod } = await checkAll(
      await rendered({
        image: { repository: "registry.internal/signalbox", tag: "1.2.3" },
        replicas: 3,
        autoscaling: { enabled: false },
        disruptionBudget: { enabled: false },
        networkPolicy: { hostedModels: false },
        crdAccess: { enabled: true },
        modelsClaim: "models",
        secretEnv: { LLM_KEY: { secret: "keys", key: "llm" } },
        imagePullSecrets: ["pull"],
        nodeSelector: { "node.kubernetes.io/instance-type": "large" },
        tolerations: [{ key: "llm", operator: "Exists", effect: "NoSchedule" }],
        podLabels: { team: "edge" },
        podAnnotations: { "example.org/owner": "edge" },
      }),
    );
    assert.equal(workload.spec.replicas, 3);
    assert.equal(pod.containers[0].image, "registry.internal/signalbox:1.2.3");
    assert.deepEqual(pod.containers[0].env.at(-1), { name: "LLM_KEY", valueFrom: { secretKeyRef: { name: "keys", key: "llm" } } });
    assert.deepEqual(pod.tolerations, [{ key: "llm", operator: "Exists", effect: "NoSchedule" }]);
    assert.equal(of("RoleBinding").length, 1);
    assert.equal(of("NetworkPolicy")[0].spec.egress.some((each) => each.to?.[0].ipBlock), false);
    assert.equal((await rendered({ networkPolicy: { enabled: false } })).filter((each) => each.kind === "NetworkPolicy").length, 0);
  });

  test("the chart keeps a configuration with every kind of character as it is", async () => {
    const config = `${parse(await readFile(join(folder, "values.yaml"), "utf8")).config}# "quotes" \\ {{ braces }} \t ümläut 漢 \u{1F600}\n`;
    const manifests = await rendered({ config });
    assert.equal(manifests.find((each) => each.kind === "ConfigMap").data["config.yaml"], config);
  });
});

describe("custom resources", () => {
  const folder = join(kDeploy, "kubernetes");
  const definition = async (plural) => documents(await readFile(join(folder, `crds/vllm.ai_${plural}.yaml`), "utf8"))[0];
  const sample = async (name) => documents(await readFile(join(folder, `samples/${name}.yaml`), "utf8"))[0];

  // Refuses members that the schema does not name, as an API server with field validation does.
  const strict = (schema) => {
    if (schema === null || typeof schema !== "object") return schema;
    if (Array.isArray(schema)) return schema.map(strict);
    const { "x-kubernetes-preserve-unknown-fields": open, ...rest } = schema;
    const out = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, strict(value)]));
    if (out.properties && !open) out.additionalProperties = false;
    return out;
  };
  async function validator(plural) {
    const { schema } = (await definition(plural)).spec.versions[0];
    const all = strict(schema.openAPIV3Schema);
    all.properties.metadata = { type: "object" };
    const formats = { int32: true, int64: true, "date-time": true };
    return new Ajv({ strict: true, strictRequired: false, formats }).compile(all);
  }
  // Every part of a structural schema must have a type.
  const typed = (schema, path) => {
    assert.ok(schema.type, path);
    if (schema.type === "array") typed(schema.items, `${path}[]`);
    for (const [name, each] of Object.entries(schema.properties ?? {})) typed(each, `${path}.${name}`);
  };

  for (const [plural, name] of [["intelligentpools", "intelligentpool"], ["intelligentroutes", "intelligentroute"]]) {
    test(`${name}: the definition is valid, and the sample matches it`, async () => {
      const crd = await definition(plural);
      assert.deepEqual(await faults(crd), []);
      assert.equal(crd.metadata.name, `${crd.spec.names.plural}.${crd.spec.group}`);
      typed(crd.spec.versions[0].schema.openAPIV3Schema, "");
      const validate = await validator(plural);
      const given = await sample(name);
      assert.equal(given.kind, crd.spec.names.kind);
      assert.ok(validate(given), JSON.stringify(validate.errors));
    });
  }

  test("a wrong value in a resource is refused", async () => {
    const pool = await validator("intelligentpools");
    const route = await validator("intelligentroutes");
    const wrong = async (validate, name, change) => {
      const given = await sample(name);
      change(given.spec);
      assert.equal(validate(given), false, `${change}`);
    };
    await wrong(pool, "intelligentpool", (spec) => (spec.models = []));
    await wrong(pool, "intelligentpool", (spec) => (spec.models[0].pricing.inputTokenPrice = -1));
    await wrong(pool, "intelligentpool", (spec) => delete spec.defaultModel);
    await wrong(route, "intelligentroute", (spec) => (spec.decisions[0].modelRefs = [{ model: "a" }, { model: "b" }]));
    await wrong(route, "intelligentroute", (spec) => (spec.decisions[0].signals.operator = "XOR"));
    await wrong(route, "intelligentroute", (spec) => (spec.signals.contextRules[0].minTokens = "many"));
    await wrong(route, "intelligentroute", (spec) => (spec.signals.keyword = []));
  });

  test("the chart has the same definitions of custom resources", async () => {
    for (const plural of ["intelligentpools", "intelligentroutes"]) {
      const [ours, theirs] = [join(kDeploy, `helm/signalbox/crds/vllm.ai_${plural}.yaml`), join(folder, `crds/vllm.ai_${plural}.yaml`)];
      assert.equal(await readFile(ours, "utf8"), await readFile(theirs, "utf8"));
    }
  });
});
