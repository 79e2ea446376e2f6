import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import { parseExact } from '@parley/protocol/json/exact-json.ts';
import {
  type EndpointArguments,
  type EndpointCaller,
  parametersOf,
  requestOf,
} from '../../../core/endpoint-tools/endpoint-call.ts';
import type { EndpointFacts } from '../../../core/endpoint-tools/endpoint-facts.ts';
import { cutText } from './document-text.ts';
import { type RunTool, ToolRefusal } from './tool.ts';

/**
 * Returns the tool that calls one endpoint as the agent, with every check that an outside caller
 * meets: version, rate limit, permission, validation. Its arguments are `{path, query, body}`, as
 * far as the endpoint has them; query parameters are named without their `[]`. The id of the action
 * is the Idempotency-Key, so a repetition has no second effect. Returns `{status, body}`; an error
 * response becomes a ToolRefusal with the error's own code.
 */
export function endpointTool(
  slug: string,
  facts: EndpointFacts,
  options: { readonly caller: EndpointCaller; readonly needsReview: boolean },
): RunTool {
  return {
    slug,
    category: 'api_endpoint',
    spec: {
      name: slug,
      description: `${facts.summary}. ${facts.method} ${facts.path}`,
      parameters: parametersOf(facts),
    },
    mutating: facts.method !== 'GET',
    needsReview: options.needsReview,
    reachesOutside: ({ body }) => facts.reachesOutside?.(body ?? {}) ?? false,
    async call(args, { principal, runId, actionId, trace, signal }) {
      const call = { principal, idempotencyKey: actionId, runId, trace };
      const request = { ...requestOf(facts, args as EndpointArguments), ...call };
      const { status, text } = await options.caller.call(request, signal);
      if (status >= 400) throw refusalIn(text);
      return { output: { status, ...bounded(text) } };
    },
  };
}

/** Bytes of a response that a model gets. */
const ANSWER_BYTES = 65_536;

function bounded(text: string): { readonly body: unknown; readonly note?: string } {
  const cut = cutText(text, ANSWER_BYTES);
  if (!cut.truncated) return { body: parseExact(text) };
  const note = `Cut off after ${ANSWER_BYTES} of ${Buffer.byteLength(text)} bytes. Ask for less at once.`;
  return { body: cut.text, note };
}

/** Returns the error of a response as the model reads it. */
export function refusalIn(text: string): ToolRefusal {
  const { code, message, param } = (JSON.parse(text) as { error: ErrorObject }).error;
  return new ToolRefusal(code, param === null ? message : `${param}: ${message}`);
}
