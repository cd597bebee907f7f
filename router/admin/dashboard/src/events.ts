// Server-sent events of a stream, their data only.

export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split(/\r?\n\r?\n/);
    rest = parts.pop()!;
    for (const part of parts) {
      const data = part.split(/\r?\n/).filter((line) => line.startsWith("data:"));
      if (data.length > 0) yield data.map((line) => line.slice(5).replace(/^ /, "")).join("\n");
    }
  }
}
