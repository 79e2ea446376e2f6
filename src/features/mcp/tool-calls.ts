import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { type CallOptions, CallRefusal, type EndpointCalls } from './endpoint-calls.ts';
import { newTask, resultOf, STARTS_RUN, TASKS } from './run-tasks.ts';
import type { EndpointTool } from './tool-set.ts';

/** Does the work of a request whose result has no place for refusals. */
export type Guarded = <T>(
  context: ServerContext,
  work: (options: CallOptions) => Promise<T>,
  uri?: string,
) => Promise<T>;

export function optionsOf({ mcpReq: { signal, _meta } }: ServerContext): CallOptions {
  const key = _meta?.[IDEMPOTENCY_KEY];
  return { signal, idempotencyKey: typeof key === 'string' ? key : undefined };
}

/** The place of an Idempotency-Key in a tool call (docs/contract.md#mcp). */
const IDEMPOTENCY_KEY = 'parley/idempotency-key';

/** A refusal is a result, so that the model can mend its call. */
export async function callTool(
  calls: EndpointCalls,
  { facts, fixed }: EndpointTool,
  args: Readonly<Record<string, unknown>>,
  context: ServerContext,
): Promise<CallToolResult> {
  try {
    const called = await calls.call(facts, withFixed(args, fixed), optionsOf(context));
    const { text, value } = called;
    if (facts.name === STARTS_RUN && takes(context, TASKS)) return newTask(called);
    if (Buffer.byteLength(text) > ANSWER_BYTES) throw tooLong(text);
    return resultOf(text, value);
  } catch (error) {
    if (!(error instanceof CallRefusal)) throw error;
    return refused(error);
  }
}

function withFixed(args: Readonly<Record<string, unknown>>, fixed: EndpointTool['fixed']) {
  if (fixed === undefined) return args;
  const { body } = args;
  return { ...args, body: { ...(typeof body === 'object' && body), ...fixed } };
}

/** Bytes of an answer: what a page of a list has at most is more than a model can read. */
const ANSWER_BYTES = 256 * 1024;

function tooLong(text: string): CallRefusal {
  const message = `The answer has ${Buffer.byteLength(text)} bytes, of at most ${ANSWER_BYTES}. Ask for less at once, for instance with a lower limit.`;
  return CallRefusal.of(new ApiError('payload_too_large', message));
}

function refused({ code, message, param }: CallRefusal): CallToolResult {
  const text = `${code}: ${param === null ? '' : `${param}: `}${message}`;
  return {
    content: [{ type: 'text', text }],
    isError: true,
    _meta: { 'parley/error': { code, message, param } },
  };
}

/** Returns whether the client declared the extension in this request. */
export function takes(context: ServerContext, extension: string): boolean {
  return capabilitiesOf(context)?.extensions?.[extension] !== undefined;
}

interface Capabilities {
  readonly extensions?: Readonly<Record<string, unknown>>;
  readonly elicitation?: object;
}

export function capabilitiesOf({ mcpReq: { envelope } }: ServerContext): Capabilities | undefined {
  const meta = envelope as Readonly<Record<string, unknown>> | undefined;
  return meta?.['io.modelcontextprotocol/clientCapabilities'] as Capabilities | undefined;
}
