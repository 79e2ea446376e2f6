/**
 * Returns the response with events that the provider's SDK can read. Servers that speak OpenAI's
 * protocol send chunks of usage or heartbeats with absent or null `choices`, `"error":null` beside
 * an answer, events without data, blanks after `[DONE]`, or no empty line after the last event.
 * Some send the arguments of a tool call as an object. The SDK refuses or misses such a chunk, and
 * so loses the answer. Only these lines are parsed and rewritten; all other lines pass unchanged.
 */
export function withReadableChunks(response: Response): Response {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (!isStream || response.body === null) return response;
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(readableLines()), { status, statusText, headers });
}

function readableLines(): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let line = '';
  return new TransformStream({
    transform(bytes, controller) {
      let whole = '';
      for (const piece of decoder.decode(bytes, { stream: true }).split(BEHIND_LINE_ENDS)) {
        line += piece;
        if (!/[\r\n]$/.test(piece)) continue;
        whole += readable(line);
        line = '';
      }
      if (whole !== '') controller.enqueue(encoder.encode(whole));
    },
    flush(controller) {
      controller.enqueue(encoder.encode(`${readable(line + decoder.decode())}\n\n`));
    },
  });
}

const BEHIND_LINE_ENDS = /(?<=[\r\n])/;

/** Quotes within a text of JSON are escaped, so these match only keys. */
const HAS_CHOICES = /"choices"\s*:\s*\[/;
const IS_ODD = /"arguments"\s*:\s*\{|"error"\s*:\s*null/;
const DATA = 'data:';

function readable(line: string): string {
  if (!line.startsWith(DATA)) return line;
  const data = line.slice(DATA.length).trim();
  if (data === '') return '';
  if (HAS_CHOICES.test(data) && !IS_ODD.test(data)) return line;
  const end = /[\r\n]?$/.exec(line)![0];
  return `${DATA} ${data.startsWith('{') ? readableChunk(data) : data}${end}`;
}

function readableChunk(json: string): string {
  try {
    const { error, ...chunk } = JSON.parse(json) as Chunk;
    if (error !== undefined && error !== null) return json;
    chunk.choices ??= [];
    for (const choice of chunk.choices) {
      for (const call of choice.delta?.tool_calls ?? []) {
        const args = call.function?.arguments;
        if (typeof args === 'object' && args !== null) call.function!.arguments = JSON.stringify(args);
      }
    }
    return JSON.stringify(chunk);
  } catch {
    return json;
  }
}

/** The parts of a chunk that are looked at. */
interface Chunk {
  readonly error?: unknown;
  choices?:
    | {
        readonly delta?: {
          readonly tool_calls?: readonly { readonly function?: { arguments?: unknown } | null }[] | null;
        } | null;
      }[]
    | null;
}
