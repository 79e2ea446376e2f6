import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/**
 * identity_providers: the issuers whose tokens an account trusts, one row an issuer. Exactly one of
 * `jwks_url`, `jwks` and `secret` verifies signatures. `revision` grows with each change that may
 * end credentials, and tokens, tickets and sockets are bound to it. `client_id` and `client_secret`
 * are for the sign-in of people.
 *
 * identities: the persons that tokens have named. `hash` is a keyed hash of issuer and subject. The
 * row stays when the person is erased, so that its tokens stay refused.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE identity_providers (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    name text NOT NULL,
    issuer text COLLATE "C" NOT NULL,
    audience text[] NOT NULL,
    jwks_url text,
    jwks jsonb,
    secret text,
    algorithms text[] NOT NULL,
    subject_claim text NOT NULL DEFAULT 'sub',
    name_claim text NOT NULL DEFAULT 'name',
    email_claim text NOT NULL DEFAULT 'email',
    subject text NOT NULL DEFAULT 'own',
    person text NOT NULL DEFAULT 'team',
    provision text NOT NULL DEFAULT 'off',
    role_id ${ID} REFERENCES roles,
    client_id text,
    client_secret text,
    revision integer NOT NULL DEFAULT 1,
    created_by ${ID} NOT NULL REFERENCES actors,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE UNIQUE INDEX identity_providers_issuer ON identity_providers (account_id, issuer)',
  'CREATE INDEX identity_providers_role ON identity_providers (role_id) WHERE role_id IS NOT NULL',

  `CREATE TABLE identities (
    account_id ${ID} NOT NULL REFERENCES accounts,
    hash bytea NOT NULL,
    actor_id ${ID} NOT NULL REFERENCES actors,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (account_id, hash)
  )`,
  'CREATE INDEX identities_actor ON identities (actor_id)',
];
