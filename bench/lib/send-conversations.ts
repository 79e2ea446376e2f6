import { createUser } from '../../src/core/accounts/actors/users.ts';
import { findRole } from '../../src/core/accounts/rights/roles.ts';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import type { Tx } from '../../src/platform/db/connection/handle.ts';
import { CONVERSATIONS } from './insert-script.ts';
import type { BenchDatabase } from './postgres.ts';
import type { Product } from './product.ts';

/**
 * Direct conversations have the sending key and one recipient, groups the key and fifty; silent
 * ones have no participants, so that no notifications are made.
 */
export type Kind = 'direct' | 'group' | 'silent';

/** The number of notifications that a send causes. */
export const RECIPIENTS: Readonly<Record<Kind, number>> = { direct: 1, group: 50, silent: 0 };

/** Ids of CONVERSATIONS conversations of each kind. */
export type Conversations = Readonly<Record<Kind, readonly string[]>>;

/** The two actors of a direct conversation of the bench. */
export interface Pair {
  /** The actor of the demo account's key. */
  readonly sender: string;
  readonly recipient: string;
}

export async function openConversations(
  { demo }: Product,
  { database }: BenchDatabase,
): Promise<Conversations> {
  const accountId = demo.account_id;
  return database.transaction(async (tx) => {
    const { sender, recipient } = await pairOf(tx, demo);
    const others = await seedUsers(tx, accountId, RECIPIENTS.group - 1);
    return {
      direct: await open(tx, accountId, 'direct_message', [sender, recipient]),
      group: await open(tx, accountId, 'group', [sender, recipient, ...others]),
      silent: await open(tx, accountId, 'group', []),
    };
  });
}

/** Opens further direct conversations of the pair, for a server that counts messages itself. */
export function openDirect(
  { demo }: Product,
  { database }: BenchDatabase,
): Promise<Pair & { readonly ids: readonly string[] }> {
  return database.transaction(async (tx) => {
    const pair = await pairOf(tx, demo);
    const ids = await open(tx, demo.account_id, 'direct_message', [pair.sender, pair.recipient]);
    return { ...pair, ids };
  });
}

async function pairOf(tx: Tx, { account_id: accountId, users }: Product['demo']): Promise<Pair> {
  const { actor_id: sender } = await tx.kysely
    .selectFrom('api_keys')
    .select('actor_id')
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow();
  return { sender, recipient: users.grace.id };
}

async function open(
  tx: Tx,
  accountId: string,
  type: 'direct_message' | 'group',
  actorIds: readonly string[],
): Promise<readonly string[]> {
  const participants = actorIds.map((actorId) => ({ type: 'user', actorId }) as const);
  const ids: string[] = [];
  for (let index = 0; index < CONVERSATIONS; index++) {
    ids.push((await createConversation(tx, { accountId, type, participants })).conversation.id);
  }
  return ids;
}

/** Returns the ids of so many new users. */
async function seedUsers(tx: Tx, accountId: string, count: number): Promise<readonly string[]> {
  const { id: roleId } = await findRole(tx, accountId, 'member');
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const person = { accountId, name: `Member ${n}`, email: `member-${n}@example.com`, roleId };
    ids.push((await createUser(tx, person)).user.id);
  }
  return ids;
}
