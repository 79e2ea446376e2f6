/** Yields the `data` lines of an event stream as they arrive: Parley puts one frame into each. */
export async function* dataOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let unread = '';
  // Safari has no asynchronous iteration of streams.
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const lines = (unread + decoder.decode(chunk.value, { stream: true })).split('\n');
    unread = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data:')) yield line.slice('data:'.length);
  }
}
