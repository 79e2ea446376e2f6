import { newId } from '@parley/protocol/ids.ts';
import type { Role } from '@parley/protocol/resources/role.ts';
import { Authenticator } from '../../src/api/access/authenticate.ts';
import { type Principal, UNAUTHENTICATED } from '../../src/api/access/principal.ts';
import type { Rights } from '../../src/api/access/rights.ts';
import { Tokens } from '../../src/api/access/tokens.ts';
import { type RunTool, type ToolContext, ToolRefusal } from '../../src/features/agents/tools/tool.ts';
import { parseArguments } from '../../src/features/agents/tools/toolbox.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { openRights } from '../access/rows.ts';
import type { TestApp } from '../support/app.ts';
import type { Teardown } from '../support/teardown.ts';
import { accepted, createdAgent } from './bodies.ts';

/** Agents of the demo account, and their principals. */
export class ActingAgents {
  /** The test's own: what changes on the server is not announced here. */
  readonly rights: Rights;
  readonly #app: TestApp;
  readonly #authenticator: Authenticator;

  static async open(t: Teardown, app: TestApp): Promise<ActingAgents> {
    const { database } = app;
    const rights = await openRights(new MemoryEngine(), t);
    const authenticator = new Authenticator({ database, rights, tokens: await Tokens.open({ database }) });
    t.teardown(() => authenticator.close());
    return new ActingAgents(app, rights, authenticator);
  }

  private constructor(app: TestApp, rights: Rights, authenticator: Authenticator) {
    this.#app = app;
    this.rights = rights;
    this.#authenticator = authenticator;
  }

  /** A new one whose role grants these. */
  async create(permissions: readonly string[]): Promise<Principal> {
    const app = this.#app;
    const body = { name: `Role ${newId('role')}`, permissions };
    const role = accepted(await app.call<Role>('POST', '/v1/roles', { body }), 201);
    const { id } = await createdAgent(app, { role_id: role.id });
    const { actor_id } = await app.database.kysely
      .selectFrom('agent_definitions')
      .select('actor_id')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    return this.principalOf(actor_id);
  }

  /** As it stands now. */
  principalOf(actorId: string): Promise<Principal> {
    const credential = { kind: 'access_token', id: `agent:${actorId}`, expiresAtMs: null } as const;
    const { account_id: accountId } = this.#app.demo;
    return this.#authenticator.principalOf({ accountId, actorId, credential });
  }

  async join({ actor }: Principal, conversationId: string): Promise<void> {
    const path = `/v1/messaging/conversations/${conversationId}/participants`;
    const body = { type: 'agent', actor_id: actor.id };
    accepted(await this.#app.call('POST', path, { body }), 201);
    await this.rights.announce(conversationId);
  }
}

/** A call's surroundings, an action of its own unless one is given. */
export function toolContext(fields: Partial<ToolContext> = {}): ToolContext {
  return {
    accountId: fields.principal?.accountId ?? '',
    runId: newId('agentRun'),
    conversationId: null,
    actionId: newId('agentAction'),
    principal: UNAUTHENTICATED,
    signal: new AbortController().signal,
    ...fields,
  };
}

/** Calls a tool as a run does: arguments as JSON text, and the output that the model reads. */
export async function callTool<Output>(
  tool: RunTool,
  args: object,
  fields: Partial<ToolContext> = {},
): Promise<Output> {
  const { output } = await tool.call(parseArguments(tool, JSON.stringify(args)), toolContext(fields));
  return output as Output;
}

/** `insufficient_permissions: …` */
export async function refusalShown(called: Promise<unknown>): Promise<string> {
  try {
    return `was answered: ${JSON.stringify(await called)}`;
  } catch (error) {
    if (!(error instanceof ToolRefusal)) throw error;
    return `${error.condition}: ${error.message}`;
  }
}
