import type { Time } from './touched.ts';

export interface SignInTables {
  sign_ins: {
    /** The family of refresh tokens. */
    session_id: string;
    account_id: string;
    actor_id: string;
    /** Null, as are the following, if the session began by an invitation. */
    provider_id: string | null;
    issuer: string | null;
    subject: string | null;
    /** The session at the provider; null if it does not say. */
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
  };

  logout_tokens: {
    provider_id: string;
    /** SHA-256 of `jti`. */
    hash: Buffer;
    expires_at: string;
  };
}
