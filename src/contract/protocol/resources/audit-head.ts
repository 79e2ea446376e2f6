import { type Static, Type } from 'typebox';
import { describe, Timestamp } from '../schema/schema.ts';

/**
 * The signed end of an account's audit (docs/contract.md#audit). Kept elsewhere, it shows later
 * whether history was changed.
 */
export const AuditHead = Type.Object({
  object: Type.Literal('audit_head'),
  account_id: Type.String(),
  /** 0 if nothing is sealed yet. */
  number: Type.Integer(),
  hash: Type.String(),
  signed_at: Timestamp,
  key_id: Type.String(),
  public_key: Type.String(),
  signature: Type.String(),
});
export type AuditHead = Static<typeof AuditHead>;

describe(AuditHead, {
  account_id: 'The account whose audit it is.',
  number: 'How many events are in the chain, purged ones included.',
  hash: 'SHA-256 of the last link as hex, which follows from every event before it.',
  signed_at: 'When the last event was appended and the head signed.',
  key_id: 'Identifies the key that signed: the first 16 hex digits of the SHA-256 of the public key.',
  public_key: 'The public ed25519 key, as base64url of its 32 bytes.',
  signature:
    'The ed25519 signature, as base64url, of the canonical JSON (RFC 8785) of all other fields of this object.',
});
