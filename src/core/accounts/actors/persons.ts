import { ERASED_NAME } from '@parley/protocol/resources/erasure.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { pages } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { ActorRow } from '../../resources/actor.ts';

/** A person as an export shows it: a user, or a customer, which has no role and no row of users. */
export interface Person extends Omit<ActorRow, 'type' | 'role_id' | 'tokens_ended_at'> {
  readonly email: string | null;
  readonly role: string | null;
  readonly role_type: string | null;
}

/** Returns undefined for an actor that is not a person or does not belong to the account. */
export async function findPerson(db: Db, accountId: string, id: string): Promise<Person | undefined> {
  const [person] = await db.query(FIND, accountId, id);
  return person;
}

/** Reads as `findPerson` does, and locks the actor until the transaction ends. */
export async function lockPerson(tx: Tx, accountId: string, id: string): Promise<Person | undefined> {
  const [person] = await tx.query(LOCK, accountId, id);
  return person;
}

/**
 * Replaces the name and addresses of a locked person, and removes its metadata, role and groups.
 * It stays in conversations. The caller removes its credentials and announces it.
 */
export async function blankPerson(tx: Tx, id: string): Promise<void> {
  await tx.kysely
    .updateTable('actors')
    .set({
      name: ERASED_NAME,
      handle: null,
      avatar_url: null,
      role_id: null,
      metadata: null,
      external_id: null,
      username: null,
      proven_address: null,
      deactivated_at: sql<string>`coalesce(deactivated_at, clock_timestamp())`,
      erased_at: sql<string>`coalesce(erased_at, clock_timestamp())`,
      updated_at: sql<string>`later_than(updated_at)`,
    })
    .where('id', '=', id)
    .execute();
  // Every user has a unique address; this one cannot receive mail (RFC 2606).
  await tx.kysely
    .updateTable('users')
    .set({ email: `${id}@deleted.invalid`, updated_at: sql<string>`later_than(updated_at)` })
    .where('id', '=', id)
    .execute();
  await tx.query(LEAVE_GROUPS, id);
}

/** Yields the ids of the account's users: only users have notifications. */
export async function* userIds(db: Db, accountId: string): AsyncIterable<string[]> {
  const read = (after: string, size: number) => db.query(READ_USER_IDS, accountId, after, size);
  for await (const rows of pages(500, '', read, ({ id }) => id)) yield rows.map(({ id }) => id);
}

const FIND = statement<[accountId: string, id: string], Person>('find-person')`
    SELECT a.id, a.account_id, a.customer, a.name, a.handle, a.avatar_url, a.external_id, a.username, a.proven_address,
      coalesce(a.metadata, '{}') AS metadata, u.email, r.name AS role, r.type AS role_type,
      a.deactivated_at, a.erased_at, a.created_at, a.updated_at
    FROM actors a LEFT JOIN users u ON u.id = a.id LEFT JOIN roles r ON r.id = a.role_id
    WHERE a.account_id = $1 AND a.id = $2 AND a.type = 'user'`;

const LOCK = statement<[accountId: string, id: string], Person>('lock-person')`${FIND.text} FOR UPDATE OF a`;

const LEAVE_GROUPS = statement<[id: string]>('remove-person-from-groups')`
    DELETE FROM group_members WHERE actor_id = $1 AND group_id IN (
      SELECT g.id FROM messaging_groups g JOIN actors a ON a.account_id = g.account_id WHERE a.id = $1)`;

const READ_USER_IDS = statement<[accountId: string, after: string, limit: number], { id: string }>(
  'read-user-ids',
)`
    SELECT id FROM users WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3`;
