import type { Principal } from '../../access/principal.ts';
import { mayRead, requireWriter } from '../../conversations/access.ts';
import type { ConversationDirectory, ConversationFacts } from '../../conversations/directory.ts';
import type { Database } from '../../db/database.ts';
import type { Tx } from '../../db/handle.ts';
import { readMessage } from '../../messages/store.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { RunRow } from '../rows.ts';
import type { EndpointFacts } from '../tools/catalogue.ts';
import { findRun, lockRun, runNotFound } from './store.ts';

export interface RunSources {
  readonly database: Database;
  readonly directory: ConversationDirectory;
}

/**
 * A run of the caller's account. What a run says in a conversation is shown to its readers only (docs/contract.md#runs);
 * other callers get the answer for a run that does not exist. Throws ApiError `resource_not_found` (param id).
 */
export async function readableRun(
  { database, directory }: RunSources,
  principal: Principal,
  id: string,
): Promise<RunRow> {
  const run = await findRun(database, principal.accountId, id);
  await requireReadable(directory, principal, run);
  return run;
}

/**
 * The same, for who is to change it, held until the end of `tx`. Throws as well `insufficient_permissions`: viewers of
 * its conversation read only.
 */
export async function lockChangeableRun(
  tx: Tx,
  { directory }: Pick<RunSources, 'directory'>,
  principal: Principal,
  id: string,
): Promise<RunRow> {
  const run = await lockRun(tx, principal.accountId, id);
  const facts = await requireReadable(directory, principal, run);
  if (facts !== null) requireWriter(facts.members.get(principal.actor.id));
  return run;
}

/** A call of an endpoint tool, as it waits. */
interface WaitingCall {
  readonly endpoint: Pick<EndpointFacts, 'path' | 'permission'>;
  /** JSON text, as its model wrote it. */
  readonly arguments: string;
}

/**
 * Who approves a call has to get to the conversation that it acts in as its own caller would have to. Throws ApiError
 * `insufficient_permissions`. Where there is no such conversation, the call fails by itself.
 */
export async function requirePlaceOf(
  tx: Tx,
  { directory }: Pick<RunSources, 'directory'>,
  principal: Principal,
  { endpoint, arguments: text }: WaitingCall,
): Promise<void> {
  const [, kind] = PLACE.exec(endpoint.path) ?? [];
  const id = kind === undefined ? undefined : idIn(text);
  if (id === undefined) return;
  const conversationId = kind === 'messages' ? (await readMessage(tx, id))?.conversation_id : id;
  const facts = conversationId === undefined ? undefined : await directory.facts(conversationId);
  // Another account's is none: whether it is there is not to be learned by asking.
  if (facts === undefined || facts.accountId !== principal.accountId) return;
  if (!mayRead(principal, facts)) {
    throw new ApiError('insufficient_permissions', 'The call acts in a conversation that you may not read.');
  }
  if (endpoint.permission !== 'messaging:read') requireWriter(facts.members.get(principal.actor.id));
}

const PLACE = /^\/v1\/messaging\/(conversations|messages)\/:id(?:\/|$)/;

/** The `id` of the path. */
function idIn(text: string): string | undefined {
  const { path }: PathArguments = text.trim() === '' ? {} : JSON.parse(text);
  return typeof path?.id === 'string' ? path.id : undefined;
}

interface PathArguments {
  readonly path?: { readonly id?: unknown } | null;
}

/** The same rule in SQL, of a run `r` and an actor that does not see the whole account. */
export function isReadableBy(actor: string): string {
  return `(r.conversation_id IS NULL OR EXISTS (
      SELECT FROM participants p
      WHERE p.conversation_id = r.conversation_id AND p.actor_id = ${actor}
        AND p.membership IN ('active', 'hidden')))`;
}

/** The same of an actor of whom nothing else is known: who triggered the run is told of it no longer than this holds. */
export function mayBeTold(actor: string): string {
  return `(${isReadableBy(actor)} OR EXISTS (
      SELECT FROM actors o JOIN roles ON roles.id = o.role_id WHERE o.id = ${actor} AND roles.type = 'admin'))`;
}

/** Whether the caller may read a run of its account: any of no conversation, else as the run's conversation. */
export async function mayReadRun(
  directory: ConversationDirectory,
  principal: Principal,
  run: Pick<RunRow, 'conversation_id'>,
): Promise<boolean> {
  if (run.conversation_id === null) return true;
  const facts = await directory.facts(run.conversation_id);
  return facts !== undefined && mayRead(principal, facts);
}

/** Returns the run's conversation; null where it has none. */
async function requireReadable(
  directory: ConversationDirectory,
  principal: Principal,
  run: RunRow,
): Promise<ConversationFacts | null> {
  if (run.conversation_id === null) return null;
  const facts = await directory.facts(run.conversation_id);
  if (facts === undefined || !mayRead(principal, facts)) throw runNotFound();
  return facts;
}
