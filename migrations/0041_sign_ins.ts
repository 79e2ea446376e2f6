import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/**
 * sign_ins: the sessions that began at an identity provider, with what its logout tokens name:
 * `subject`, and `sid`, the session there. A session is a family of refresh tokens, so there is no
 * key to refer to.
 *
 * logout_tokens: the ids of logout tokens that were used, until each has expired.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE sign_ins (
    session_id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    actor_id ${ID} NOT NULL REFERENCES actors,
    provider_id ${ID} NOT NULL,
    issuer text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    sid text COLLATE "C",
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE INDEX sign_ins_subject ON sign_ins (provider_id, subject)',
  'CREATE INDEX sign_ins_sid ON sign_ins (provider_id, sid) WHERE sid IS NOT NULL',
  'CREATE INDEX sign_ins_actor ON sign_ins (actor_id)',
  'CREATE INDEX sign_ins_account ON sign_ins (account_id)',

  `CREATE TABLE logout_tokens (
    provider_id ${ID} NOT NULL,
    hash bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (provider_id, hash)
  )`,
];
