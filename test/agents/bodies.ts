import type { List } from '@parley/protocol/lists.ts';
import type { AgentDefinition } from '@parley/protocol/resources/agent-definition.ts';
import type { CallAnswer, CallOptions, Refusal, TestApp } from '../support/app.ts';

export const AGENTS = '/v1/ai/agents';

export type AgentPage = List<AgentDefinition>;

let made = 0;

/**
 * A body that Create Agent takes, with a slug of its own; fields given as undefined are left out.
 */
export function agentBody(fields: object = {}): Record<string, unknown> {
  made += 1;
  return {
    name: 'Sorter',
    slug: `sorter-${made}`,
    category_code: 'support',
    trigger_type: 'manual',
    config: {},
    ...fields,
  };
}

/** Create Agent, for what comes of it. */
export async function createdAgent(
  app: TestApp,
  fields: object = {},
  options: CallOptions & { readonly query?: string } = {},
): Promise<AgentDefinition> {
  const { query = '', ...rest } = options;
  const answer = await app.call<AgentDefinition>('POST', `${AGENTS}?${query}`, {
    body: agentBody(fields),
    ...rest,
  });
  return accepted(answer, 201);
}

/** The body of an answer that is no refusal. */
export function accepted<Body>({ status, text, body }: CallAnswer<Body>, expected = 200): Body {
  if (status !== expected) throw new Error(`${status} instead of ${expected}: ${text}`);
  return body;
}

/** The demo's neighbour, whose plan is free. */
export function asNeighbour({ demo }: TestApp): CallOptions {
  const { account_id, api_key } = demo.other_account;
  return { token: api_key, headers: { 'Service-Account': account_id } };
}

/** Returns an answer without the fields that differ each time. */
export function textOf({ status, body }: CallAnswer<Refusal>): string {
  return JSON.stringify([status, body]);
}
