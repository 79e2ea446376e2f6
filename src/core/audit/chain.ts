import { createHash } from 'node:crypto';
import { canonicalJson } from '@parley/protocol/json/canonical-json.ts';
import type { Signed } from './signing-key.ts';

/** The hashed and the signed content, for sealing and verifying alike; no database is needed. */

/** An audit event at its place in the chain, as an export contains it. */
export interface AuditLink {
  readonly object: 'audit_link';
  /** Counts from 1, without gaps. */
  readonly number: number;
  readonly id: string;
  readonly created_at: string;
  readonly sealed_at: string;
  readonly action: string;
  readonly actor_id: string | null;
  readonly conversation_id: string | null;
  /** `{}` once the details are erased. */
  readonly details: Readonly<Record<string, unknown>>;
  /**
   * Base64url of 32 random bytes, so that details cannot be guessed from their hash; null if
   * erased.
   */
  readonly salt: string | null;
  /** Hex of SHA-256 over the salt and the canonical JSON of the details. */
  readonly details_hash: string;
  /** Hex of SHA-256 over the link before and every field of this one but `details` and `salt`. */
  readonly hash: string;
  /** Null unless the details were erased. */
  readonly erasure: Signed<AuditErasure> | null;
}

/** The fields that have columns: all but `object`. */
export const LINK_FIELDS = (
  ['id', 'conversation_id', 'actor_id', 'action', 'details', 'created_at'] as (keyof AuditLink)[]
).concat(['number', 'sealed_at', 'salt', 'details_hash', 'hash', 'erasure']);

/** States which link is the last one. Every later chain of the account must contain it. */
export interface AuditHead {
  readonly object: 'audit_head';
  readonly account_id: string;
  readonly number: number;
  readonly hash: string;
  readonly signed_at: string;
}

/** Replaces links that were purged; the last of them had this hash. */
export interface AuditCheckpoint {
  readonly object: 'audit_checkpoint';
  readonly account_id: string;
  readonly first: number;
  readonly last: number;
  readonly hash: string;
  readonly signed_at: string;
}

export interface AuditErasure {
  readonly object: 'audit_erasure';
  readonly account_id: string;
  readonly number: number;
  readonly signed_at: string;
}

/**
 * States that another installation goes on with the chain behind this link, under its own key. The
 * account's audit has an event `HANDED_OVER` that names it.
 */
export interface AuditHandover {
  readonly object: 'audit_handover';
  readonly account_id: string;
  /** The last link that the former installation sealed; 0 if it sealed none. */
  readonly number: number;
  readonly hash: string;
  readonly from_key_id: string;
  readonly from_public_key: string;
  /** Earlier keys of the former installation; their signatures up to this link count too. */
  readonly from_old_public_keys: readonly string[];
  readonly to_key_id: string;
  readonly to_public_key: string;
  /** The public URLs of the installations. */
  readonly from_cell: string;
  readonly to_cell: string;
  readonly signed_at: string;
  /**
   * The signatures of the former and the new key, each as in a `Signed` document of all other
   * fields.
   */
  readonly signatures: readonly [former: string, next: string];
}

/** The hash that the first link follows. */
export const GENESIS = '0'.repeat(64);

/** The head of a chain without links. */
export const NOTHING_SEALED = { object: 'audit_head', number: 0, hash: GENESIS } as const;

/** The action of the event that names a hand-over, by `details.handover`. */
export const HANDED_OVER = 'account.handed_over';

/** The first violation in a chain, as a sentence that names the row. */
export class TamperedError extends Error {}

/** Returns the hex of SHA-256 over the canonical JSON. */
export function hashHandover(handover: AuditHandover): string {
  return createHash('sha256').update(canonicalJson(handover)).digest('hex');
}

export function hashDetails(salt: Buffer, details: object): string {
  return createHash('sha256').update(salt).update(canonicalJson(details)).digest('hex');
}

/** Returns the hash; `previous` is that of the link before. */
export function hashLink(
  previous: string,
  accountId: string,
  link: Omit<AuditLink, 'object' | 'details' | 'salt' | 'hash' | 'erasure'>,
): string {
  const fields = [
    'parley-audit-1',
    previous,
    accountId,
    link.number,
    link.id,
    link.created_at,
    link.sealed_at,
    link.action,
    link.actor_id,
    link.conversation_id,
    link.details_hash,
  ];
  return createHash('sha256').update(JSON.stringify(fields)).digest('hex');
}
