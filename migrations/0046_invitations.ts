import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/**
 * invitations: by which a user signs in without an identity provider, one for each user at most:
 * a new one replaces the former. A change of what the user may do removes it, on whichever version
 * of a node it happens. `used_at`: by then the invitation says only that it was used.
 *
 * sign_ins: a session that began by an invitation has no provider, issuer and subject.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE invitations (
    actor_id ${ID} PRIMARY KEY REFERENCES actors,
    account_id ${ID} NOT NULL REFERENCES accounts,
    hash bytea NOT NULL UNIQUE,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE INDEX invitations_account ON invitations (account_id)',
  `CREATE FUNCTION end_invitations() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM invitations WHERE actor_id = NEW.id;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER actors_end_invitations AFTER UPDATE OF role_id, deactivated_at, tokens_ended_at ON actors
    FOR EACH ROW WHEN (
      OLD.role_id IS DISTINCT FROM NEW.role_id OR OLD.deactivated_at IS DISTINCT FROM NEW.deactivated_at
      OR OLD.tokens_ended_at IS DISTINCT FROM NEW.tokens_ended_at)
    EXECUTE FUNCTION end_invitations()`,

  `ALTER TABLE sign_ins ALTER provider_id DROP NOT NULL, ALTER issuer DROP NOT NULL,
    ALTER subject DROP NOT NULL`,
];
