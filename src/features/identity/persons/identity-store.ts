import { createHmac } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import { addressless } from '@parley/protocol/schema/addresses.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';

/** Returns the hash in `identities` of a person that an issuer names: HMAC-SHA-256 of both. */
export function identityHash(secret: string, issuer: string, subject: string): Buffer {
  return createHmac('sha256', secret)
    .update(JSON.stringify([issuer, subject]))
    .digest();
}

export interface IdentityKey {
  readonly accountId: string;
  readonly hash: Buffer;
  readonly customer: boolean;
  /** Null if the subject is no id of the account. */
  readonly externalId: string | null;
}

/** The known facts of an identity. */
export interface FoundIdentity {
  /** The actor that tokens of this identity named last, or null. */
  readonly known_id: string | null;
  readonly customer: boolean | null;
  readonly erased: boolean | null;
  /** The actor with the external id, or null. */
  readonly external_actor_id: string | null;
  /** The proven address of the actor that the identity names. */
  readonly proven_address: string | null;
}

export async function findIdentity(
  db: Db,
  { accountId, hash, customer, externalId }: IdentityKey,
): Promise<FoundIdentity> {
  const [found] = await db.query(FIND, accountId, hash, customer, externalId);
  return found!;
}

/** Locks the identity, so that two transactions that find no person do not both create one. */
export async function lockIdentity(tx: Tx, { accountId, hash }: IdentityKey): Promise<void> {
  await tx.query(LOCK, `${accountId} ${hash.toString('hex')}`);
}

/** Notes whom an identity names. An identity that named an erased person keeps naming it. */
export async function noteIdentity(
  db: Db,
  { accountId, hash }: Pick<IdentityKey, 'accountId' | 'hash'>,
  actorId: string,
): Promise<void> {
  await db.query(NOTE, accountId, hash, actorId);
}

export interface NewPerson {
  readonly accountId: string;
  readonly customer: boolean;
  readonly name: string;
  readonly handle: string | null;
  readonly externalId: string | null;
  readonly roleId: string | null;
}

/**
 * Creates the actor of a person. Returns its id, or undefined if another actor has the external id,
 * possibly from a concurrent transaction.
 */
export async function insertPerson(tx: Tx, person: NewPerson): Promise<string | undefined> {
  const { accountId, customer, name, handle, roleId, externalId } = person;
  const [row] = await tx.query(INSERT, newId('actor'), accountId, customer, name, handle, roleId, externalId);
  return row?.id;
}

/**
 * Makes the actor a user with this address. If the address is null or another user has it, the user
 * gets an address that receives no mail (RFC 2606). Returns whether the address is its own.
 */
export async function insertUser(
  tx: Tx,
  accountId: string,
  actorId: string,
  email: string | null,
): Promise<boolean> {
  if (email !== null && (await tx.query(INSERT_USER, actorId, accountId, email.toLowerCase())).length > 0) {
    return true;
  }
  await tx.query(INSERT_USER, actorId, accountId, addressless(actorId));
  return false;
}

const FIND = statement<
  [accountId: string, hash: Buffer, customer: boolean, externalId: string | null],
  FoundIdentity
>('find-identity')`
    SELECT k.id AS known_id, k.customer, k.erased_at IS NOT NULL AS erased, x.id AS external_actor_id,
      CASE WHEN $4::text IS NULL THEN k.proven_address ELSE x.proven_address END AS proven_address
    FROM (SELECT) AS one
    LEFT JOIN identities i ON i.account_id = $1 AND i.hash = $2
    LEFT JOIN actors k ON k.id = i.actor_id
    LEFT JOIN actors x ON x.account_id = $1 AND x.type = 'user' AND x.customer = $3 AND x.external_id = $4`;

const LOCK = statement<[identity: string]>('lock-identity')`
    SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`;

const NOTE = statement<[accountId: string, hash: Buffer, actorId: string]>('note-identity')`
    INSERT INTO identities AS i (account_id, hash, actor_id) VALUES ($1, $2, $3)
    ON CONFLICT (account_id, hash) DO UPDATE SET actor_id = excluded.actor_id
      WHERE NOT EXISTS (SELECT FROM actors a WHERE a.id = i.actor_id AND a.erased_at IS NOT NULL)`;

const INSERT = statement<
  [
    id: string,
    accountId: string,
    customer: boolean,
    name: string,
    handle: string | null,
    roleId: string | null,
    externalId: string | null,
  ],
  { id: string }
>('insert-provided-person')`
    INSERT INTO actors (id, account_id, type, customer, name, handle, role_id, external_id)
    VALUES ($1, $2, 'user', $3, $4, $5, $6, $7)
    ON CONFLICT (account_id, type, customer, external_id) WHERE external_id IS NOT NULL DO NOTHING
    RETURNING id`;

const INSERT_USER = statement<[id: string, accountId: string, email: string], { id: string }>(
  'insert-provided-user',
)`
    INSERT INTO users (id, account_id, email) VALUES ($1, $2, $3)
    ON CONFLICT (account_id, email) DO NOTHING RETURNING id`;
