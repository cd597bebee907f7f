// A model server whose stream never ends by itself, so that a test can see what reaches it and when its caller goes.

import { createServer } from "node:http";

export class EndlessUpstream {
  static async start() {
    const upstream = new EndlessUpstream();
    upstream.closed = new Promise((done) => (upstream.onClosed = done));
    upstream.server = createServer((request, response) => upstream.#answer(request, response));
    await new Promise((done) => upstream.server.listen(0, "127.0.0.1", done));
    upstream.port = upstream.server.address().port;
    return upstream;
  }

  #answer(request, response) {
    let body = "";
    request.setEncoding("utf8").on("data", (text) => (body += text));
    request.on("end", () => {
      this.body = body;
      response.on("close", this.onClosed);
      response.writeHead(200, { "content-type": "text/event-stream" });
      const delta = { content: "tick " };
      const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "endless", choices: [{ index: 0, delta }] };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    });
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}
