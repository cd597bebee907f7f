// A shell in a folder that looks like a clone with the program built. Its folders are links to the real ones, except
// for those into which pages write. Ports that pages name are replaced by free ones, so that the test can run next to a
// router.

import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { freePorts } from "../e2e/daemon.mjs";

const kRoot = resolve("../.."); // relative to the folder of tests/docs/run
const kPorts = [8801, 8080, 9190, 8000, 50051];
const kOwn = [".git", "build", "models", "deploy", "node_modules"];
const kGrowing = ["signals"]; // model folders to which pages add their own heads
const kBlockMsMax = 180_000; // allows for a busy machine

export class Session {
  static async open() {
    const session = new Session();
    session.folder = await mkdtemp(join(tmpdir(), "signalbox-docs-"));
    session.ports = new Map((await freePorts(kPorts.length)).map((free, i) => [String(kPorts[i]), String(free)]));
    await session.#furnish();
    session.shell = spawn("bash", ["--noprofile", "--norc", "-eu"], {
      cwd: session.folder,
      env: {
        PATH: `${join(session.folder, "build/release")}:${process.env.PATH}`,
        HOME: session.folder,
        LANG: "C.UTF-8",
        MANAGEMENT_PORT: session.port(8080),
      },
      stdio: ["pipe", "pipe", "inherit"],
    });
    session.closed = new Promise((done) => session.shell.on("close", done));
    session.shell.stdout.setEncoding("utf8");
    await session.#send(`exec 2>&1\n. ${resolve("session.sh")}`);
    return session;
  }

  async #furnish() {
    for (const name of await readdir(kRoot)) {
      if (!kOwn.includes(name)) await symlink(join(kRoot, name), join(this.folder, name));
    }
    await mkdir(join(this.folder, "build/release"), { recursive: true });
    await symlink(process.env.SIGNALBOX, join(this.folder, "build/release/signalbox"));
    await mkdir(join(this.folder, "models"));
    for (const name of await readdir(join(kRoot, "models"))) {
      const [from, to] = [join(kRoot, "models", name), join(this.folder, "models", name)];
      if (kGrowing.includes(name)) await cp(from, to, { recursive: true });
      else await symlink(from, to);
    }
    await cp(join(kRoot, "deploy"), join(this.folder, "deploy"), { recursive: true });
    for (const name of await readdir(".")) {
      if (name.endsWith(".yaml")) await cp(name, join(this.folder, name));
    }
    for (const entry of await readdir(this.folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !entry.name.endsWith(".yaml")) continue;
      const file = join(entry.parentPath ?? entry.path, entry.name);
      await writeFile(file, this.#swap(await readFile(file, "utf8")));
    }
  }

  port(named) {
    return this.ports.get(String(named));
  }

  #swap(text) {
    return text.replace(/\b\d{4,5}\b/g, (digits) => this.ports.get(digits) ?? digits);
  }

  #swapBack(text) {
    const named = new Map([...this.ports].map(([port, free]) => [free, port]));
    return text.replace(/\b\d{4,5}\b/g, (digits) => named.get(digits) ?? digits);
  }

  /// Runs the commands of a page and returns {status, output}. A status other than 0 or `expected` ends the shell.
  async run(commands, expected = 0) {
    const file = join(this.folder, ".block.sh");
    await writeFile(file, this.#swap(commands).replace(/^(?:\S*\/)?signalbox serve\b/gm, "serve"));
    const command = expected === 0 ? `. ${file} < /dev/null` : `(. ${file}) < /dev/null && false || [[ $? == ${expected} ]]`;
    return this.#send(command);
  }

  #send(command) {
    return new Promise((done) => {
      let output = "";
      const end = "\0end\n";
      const finish = (status) => {
        clearTimeout(timer);
        this.shell.stdout.removeAllListeners("data");
        done({ status, output: this.#swapBack(output.replace(end, "")) });
      };
      const timer = setTimeout(() => {
        output += `\n(no end after ${kBlockMsMax / 1000} s)`;
        this.shell.kill("SIGKILL");
      }, kBlockMsMax);
      this.closed.then((status) => finish(status ?? 1));
      this.shell.stdout.on("data", (text) => {
        output += text;
        if (output.endsWith(end)) finish(0);
      });
      this.shell.stdin.write(`${command}\nprintf '\\0end\\n'\n`);
    });
  }

  async close() {
    const { status, output } = this.shell.exitCode === null ? await this.#send("stop_router") : { status: 0, output: "" };
    this.shell.stdin.destroy();
    this.shell.kill("SIGKILL");
    await this.closed;
    await rm(this.folder, { recursive: true });
    return { status, output };
  }
}
