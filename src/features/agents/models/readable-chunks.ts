/**
 * Returns the response with events that the SDK of the provider reads. Servers that speak OpenAI's
 * protocol send chunks of usage or heartbeats without `choices`, or with null there, and some give
 * the arguments of a tool call as an object: the SDK refuses such a chunk, and with it the answer.
 * Only these lines are parsed and written anew; the others pass as they are.
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
      controller.enqueue(encoder.encode(readable(line + decoder.decode())));
    },
  });
}

const BEHIND_LINE_ENDS = /(?<=[\r\n])/;

/** Quotes within a text of JSON are escaped, so these match keys alone. */
const HAS_CHOICES = /"choices"\s*:\s*\[/;
const HAS_OBJECT_AS_ARGUMENTS = /"arguments"\s*:\s*\{/;

function readable(line: string): string {
  const [, field, json] = /^(data: ?)(\{.*\}\s*)$/s.exec(line) ?? [];
  if (json === undefined || (HAS_CHOICES.test(json) && !HAS_OBJECT_AS_ARGUMENTS.test(json))) return line;
  try {
    const chunk = JSON.parse(json) as Chunk;
    if ('error' in chunk) return line;
    chunk.choices ??= [];
    for (const choice of chunk.choices) {
      for (const call of choice.delta?.tool_calls ?? []) {
        const args = call.function?.arguments;
        if (typeof args === 'object' && args !== null) call.function!.arguments = JSON.stringify(args);
      }
    }
    return `${field}${JSON.stringify(chunk)}${/\s*$/.exec(line)![0]}`;
  } catch {
    return line;
  }
}

/** The parts of a chunk that are looked at. */
interface Chunk {
  choices?:
    | {
        readonly delta?: {
          readonly tool_calls?: readonly { readonly function?: { arguments?: unknown } | null }[] | null;
        } | null;
      }[]
    | null;
}
