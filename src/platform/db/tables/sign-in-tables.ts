import type { Time } from './touched.ts';

export interface SignInTables {
  sign_ins: {
    /** The family of refresh tokens. */
    session_id: string;
    account_id: string;
    actor_id: string;
    provider_id: string;
    issuer: string;
    subject: string;
    /** The session at the provider; null if it does not say. */
    sid: string | null;
    created_at: Time;
  };

  logout_tokens: {
    provider_id: string;
    /** SHA-256 of `jti`. */
    hash: Buffer;
    expires_at: string;
  };
}
