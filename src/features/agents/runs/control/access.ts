import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Principal } from '../../../../api/access/principal.ts';
import { mayRead, requireWriter } from '../../../../core/conversations/directory/access.ts';
import type {
  ConversationDirectory,
  ConversationFacts,
} from '../../../../core/conversations/directory/directory.ts';
import type { EndpointFacts } from '../../../../core/endpoint-tools/endpoint-facts.ts';
import type { NodeParts } from '../../../../core/features/feature.ts';
import { readAgentsById } from '../../../../core/resources/agent.ts';
import { readMessage } from '../../../../core/resources/message.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import type { ToolCatalogue } from '../../tools/catalogue.ts';
import { findRun, lockRun, type RunFilters, runNotFound } from '../state/store.ts';

export type RunSources = Pick<NodeParts, 'database' | 'directory'>;

export interface RunRoutesOptions extends RunSources {
  readonly catalogue: Pick<ToolCatalogue, 'endpoints'>;
}

/**
 * Returns a run of the caller's account. A run with a conversation is visible only to the
 * conversation's readers (docs/contract.md#runs); other callers get the error for a run that does
 * not exist. Throws ApiError `resource_not_found` (param id).
 */
export async function readableRun(
  { database, directory }: RunSources,
  principal: Principal,
  id: string,
): Promise<RunRow> {
  const run = await findRun(database, principal.accountId, id);
  if ((await readablePlace(directory, principal, run)) === undefined) throw runNotFound();
  return run;
}

/**
 * Returns and locks a run like `readableRun`, until the end of `tx`, for a caller that changes it.
 * Also throws `insufficient_permissions`: viewers of its conversation can only read.
 */
export async function lockChangeableRun(
  tx: Tx,
  { directory }: Pick<RunSources, 'directory'>,
  principal: Principal,
  id: string,
): Promise<RunRow> {
  const run = await lockRun(tx, principal.accountId, id);
  const facts = await readablePlace(directory, principal, run);
  if (facts === undefined) throw runNotFound();
  if (facts !== null) requireWriter(facts.members.get(principal.actor.id));
  return run;
}

/**
 * Throws ApiError `parameter_invalid` for a filter that names no agent of the account, or no
 * conversation that the caller may read: an empty list would hide the mistake.
 */
export async function requireFilters(
  { database, directory }: RunSources,
  principal: Principal,
  { agentId, conversationId }: Pick<RunFilters, 'agentId' | 'conversationId'>,
): Promise<void> {
  if (agentId !== undefined) {
    const [agent] = await readAgentsById(database, [agentId]);
    if (agent?.account_id !== principal.accountId) throw namesNothing('agent_id', 'an agent of the account');
  }
  if (conversationId !== undefined) {
    const facts = await directory.facts(conversationId);
    if (facts === undefined || !mayRead(principal, facts)) {
      throw namesNothing('conversation_id', 'a conversation that you can read');
    }
  }
}

function namesNothing(param: string, what: string): ApiError {
  return new ApiError('parameter_invalid', `Must be the id of ${what}.`, { param });
}

/**
 * Requires of a person who approves a call of an endpoint the access to the conversation that its
 * caller needs. Throws `insufficient_permissions`. Without such a conversation, the call fails by
 * itself.
 */
export async function requirePlaceOf(
  tx: Tx,
  { directory }: Pick<RunSources, 'directory'>,
  principal: Principal,
  endpoint: Pick<EndpointFacts, 'path' | 'permission'>,
  text: string,
): Promise<void> {
  const [, kind] = PLACE.exec(endpoint.path) ?? [];
  const id = kind === undefined ? undefined : idIn(text);
  if (id === undefined) return;
  const conversationId = kind === 'messages' ? (await readMessage(tx, id))?.conversation_id : id;
  const facts = conversationId === undefined ? undefined : await directory.facts(conversationId);
  // A conversation of another account counts as missing, so that its existence cannot be probed.
  if (facts === undefined || facts.accountId !== principal.accountId) return;
  if (!mayRead(principal, facts)) {
    throw new ApiError(
      'insufficient_permissions',
      'You cannot read the conversation that this call acts in.',
    );
  }
  if (endpoint.permission !== 'messaging:read') requireWriter(facts.members.get(principal.actor.id));
}

const PLACE = /^\/v1\/messaging\/(conversations|messages)\/:id(?:\/|$)/;

/** Returns the `id` of the path in the arguments, which are JSON text of the model. */
function idIn(text: string): string | undefined {
  const { path }: { readonly path?: { readonly id?: unknown } | null } =
    text.trim() === '' ? {} : JSON.parse(text);
  return typeof path?.id === 'string' ? path.id : undefined;
}

/** Returns the run's conversation, null if it has none, undefined if the caller may not read it. */
export async function readablePlace(
  directory: ConversationDirectory,
  principal: Principal,
  { conversation_id: id }: Pick<RunRow, 'conversation_id'>,
): Promise<ConversationFacts | null | undefined> {
  if (id === null) return null;
  const facts = await directory.facts(id);
  return facts && mayRead(principal, facts) ? facts : undefined;
}
