import type {
  IdentityAlgorithm,
  KeySet,
  ProvidedPerson,
  Provision,
  SubjectMeaning,
} from '@parley/protocol/resources/identity-provider.ts';
import type { Generated, JSONColumnType } from 'kysely';
import type { Time, Times } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends IdentityTables {}
}

interface IdentityTables {
  identity_providers: Times & {
    id: string;
    account_id: string;
    name: string;
    /** Compared byte for byte with `iss`; unique in the account. */
    issuer: string;
    audience: string[];
    /** Exactly one of `jwks_url`, `jwks` and `secret` is set. */
    jwks_url: string | null;
    jwks: JSONColumnType<KeySet | null, string | null | undefined, string | null>;
    /** The key of HS256, HS384 and HS512, as UTF-8. */
    secret: string | null;
    algorithms: IdentityAlgorithm[];
    subject_claim: Generated<string>;
    name_claim: Generated<string>;
    email_claim: Generated<string>;
    subject: Generated<SubjectMeaning>;
    person: Generated<ProvidedPerson>;
    provision: Generated<Provision>;
    role_id: string | null;
    /** For the sign-in of people; null if they cannot sign in here. */
    client_id: string | null;
    client_secret: string | null;
    /** Grows with each change that ends the tokens, tickets and sockets of the provider. */
    revision: Generated<number>;
    /** Actor id. */
    created_by: string;
  };

  identities: {
    account_id: string;
    /** A keyed hash of issuer and subject. */
    hash: Buffer;
    actor_id: string;
    created_at: Time;
  };

  sign_ins: {
    /** The family of refresh tokens. */
    session_id: string;
    account_id: string;
    actor_id: string;
    /** Null, like the next columns, if the session began by an invitation. */
    provider_id: string | null;
    issuer: string | null;
    subject: string | null;
    /** The session at the provider; null if the provider names none. */
    sid: string | null;
    created_at: Time;
  };

  invitations: {
    actor_id: string;
    account_id: string;
    /** SHA-256 of the secret. */
    hash: Buffer;
    expires_at: string;
    used_at: string | null;
    created_at: Time;
    /** Of an invitation that is mailed: its secret is derived from it. */
    id: string | null;
    /** Actor id. Null in rows of earlier nodes. */
    invited_by: string | null;
  };

  logout_tokens: {
    provider_id: string;
    /** SHA-256 of `jti`. */
    hash: Buffer;
    expires_at: string;
  };
}
