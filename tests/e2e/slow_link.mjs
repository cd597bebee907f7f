// A link to a local port that passes a limited number of bytes per second.

import { once } from "node:events";
import { connect, createServer } from "node:net";

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/// Copies a stream at that rate.
async function copy(from, to, rate) {
  let sent = 0; // the time at which the bytes so far have passed
  for await (const bytes of from) {
    sent = Math.max(sent, Date.now()) + (bytes.length / rate) * 1000;
    if (sent > Date.now()) await pause(sent - Date.now());
    if (!to.write(bytes)) await once(to, "drain");
  }
  to.end();
}

export class SlowLink {
  sockets = new Set();

  /// `rate` is for each direction of each connection.
  static async to(port, rate) {
    const link = new SlowLink();
    link.server = createServer((near) => {
      const far = connect(port, "127.0.0.1");
      const end = () => [near, far].forEach((socket) => socket.destroy());
      for (const [from, to] of [[near, far], [far, near]]) {
        link.sockets.add(from);
        from.on("close", () => link.sockets.delete(from));
        copy(from, to, rate).catch(end);
      }
    });
    link.server.listen(0, "127.0.0.1");
    await once(link.server, "listening");
    link.port = link.server.address().port;
    return link;
  }

  async stop() {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await once(this.server, "close");
  }
}
