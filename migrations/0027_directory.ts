import { type Kysely, sql } from 'kysely';

/**
 * roles: each account has a role of the types `scanner` and `sales_rep`, which belongs to the service. A trigger makes
 * them, so that accounts that a node of the version before creates have them too. Where the account has a role of that
 * name already, ` (service)` stands behind it.
 *
 * refresh_tokens.began_at: when the first token of the family was issued; null in tokens of before. The row of that
 * token itself is purged while the family goes on.
 *
 * avatars: the image of an actor. The id is a part of its public address, so it must not be guessable.
 *
 * presences: the status that sockets of a node declared for their actor; `until`: the last of them has closed, and the
 * actor counts as present until then. A row counts while its node does, as `presence_nodes` says, where a node moves its
 * time on for as long as it runs. Both tables are unlogged: after a crash of Postgres the nodes write them again.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE FUNCTION create_service_roles(account text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO roles (id, account_id, name, type, permissions)
    SELECT 'rol_' || left(encode(sha256(convert_to('role ' || account || ' ' || service.type, 'UTF8')), 'hex'), 24), account,
      service.type || CASE WHEN EXISTS (
        SELECT FROM roles taken WHERE taken.account_id = account AND taken.name = service.type
      ) THEN ' (service)' ELSE '' END,
      service.type, service.permissions
    FROM (VALUES
      ('scanner', '{messaging:read,messaging:create,events:create,alerts:create}'::text[]),
      ('sales_rep', '{messaging:read,messaging:create,messaging:update}'::text[])
    ) AS service (type, permissions)
    ON CONFLICT DO NOTHING
  $$`,
  `CREATE FUNCTION account_created() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM create_service_roles(NEW.id);
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER accounts_service_roles AFTER INSERT ON accounts
    FOR EACH ROW EXECUTE FUNCTION account_created()`,
  'SELECT create_service_roles(id) FROM accounts',

  'ALTER TABLE refresh_tokens ADD COLUMN began_at timestamptz',

  `CREATE TABLE avatars (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    actor_id ${ID} NOT NULL UNIQUE REFERENCES actors,
    s3_key ${ID} NOT NULL,
    content_type text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE INDEX avatars_files ON avatars (s3_key)',
  'CREATE INDEX avatars_of_account ON avatars (account_id)',

  `CREATE UNLOGGED TABLE presence_nodes (
    id text PRIMARY KEY,
    until timestamptz NOT NULL
  )`,
  `CREATE UNLOGGED TABLE presences (
    actor_id ${ID} NOT NULL,
    node_id text NOT NULL,
    status text NOT NULL,
    until timestamptz,
    PRIMARY KEY (actor_id, node_id)
  )`,
  'CREATE INDEX presences_of_node ON presences (node_id)',
];
