-- Accounts, whoever acts in them, and their credentials.

-- The time of a change: now, and later than the change before it.
CREATE FUNCTION later_than(earlier timestamptz) RETURNS timestamptz
LANGUAGE sql VOLATILE AS $$
  SELECT greatest(clock_timestamp(), earlier + interval '1 microsecond')
$$;

-- What all nodes share: the token secret, the identity of this database.
CREATE TABLE settings (
  name text PRIMARY KEY,
  value text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE accounts (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  plan text NOT NULL DEFAULT 'free',
  subscription text NOT NULL DEFAULT 'active',
  created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  deleted_at timestamptz
);

CREATE TABLE roles (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  name text NOT NULL,
  type text NOT NULL DEFAULT 'user',
  permissions text[] NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  UNIQUE (account_id, name)
);

-- Each account has a role of the types `scanner` and `sales_rep`, which belongs to the service. A
-- trigger makes them, whatever writes the account. Where the account has a role of that name
-- already, ` (service)` stands behind it.
CREATE FUNCTION create_service_roles(account text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO roles (id, account_id, name, type, permissions)
  SELECT
    'rol_' || left(encode(sha256(convert_to('role ' || account || ' ' || service.type, 'UTF8')),
      'hex'), 24),
    account,
    service.type || CASE WHEN EXISTS (
      SELECT FROM roles taken WHERE taken.account_id = account AND taken.name = service.type
    ) THEN ' (service)' ELSE '' END,
    service.type, service.permissions
  FROM (VALUES
    ('scanner', '{messaging:read,messaging:create,events:create,alerts:create}'::text[]),
    ('sales_rep', '{messaging:read,messaging:create,messaging:update}'::text[])
  ) AS service (type, permissions)
  ON CONFLICT DO NOTHING
$$;

CREATE FUNCTION account_created() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM create_service_roles(NEW.id);
    RETURN NULL;
  END
$$;
CREATE TRIGGER accounts_service_roles AFTER INSERT ON accounts
  FOR EACH ROW EXECUTE FUNCTION account_created();

-- Whoever acts: people, keys, agents, personas, groups. A customer is a user without a role.
-- `erased_at`: since when the person's name and addresses are gone for good.
-- `tokens_ended_at`: when the actor was last deactivated. Access tokens that no session issued and
-- that are older stay refused when the actor is activated again.
-- `external_id`: the id that an application has for it, unique for its kind in the account, which
-- type and `customer` tell, and equal only byte for byte.
CREATE TABLE actors (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  type text NOT NULL,
  customer boolean NOT NULL DEFAULT false,
  name text,
  handle text,
  avatar_url text,
  role_id text COLLATE "C" REFERENCES roles,
  deactivated_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  erased_at timestamptz,
  tokens_ended_at timestamptz,
  external_id text COLLATE "C",
  metadata jsonb
);
CREATE INDEX actors_of_account ON actors (account_id, created_at, id);
CREATE UNIQUE INDEX actors_external_id ON actors (account_id, type, customer, external_id)
  WHERE external_id IS NOT NULL;

-- `placeholder`: an author that an import made, as which no person can sign in before it is
-- claimed.
CREATE TABLE users (
  id text COLLATE "C" PRIMARY KEY REFERENCES actors,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  email text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  placeholder boolean NOT NULL DEFAULT false,
  UNIQUE (account_id, email)
);
CREATE INDEX users_of_account ON users (account_id, created_at, id);

-- The users that see the installation as a whole, whatever their roles in their accounts. Only the
-- operator's commands write it.
CREATE TABLE operators (
  user_id text COLLATE "C" PRIMARY KEY REFERENCES users,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE api_keys (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  actor_id text COLLATE "C" NOT NULL REFERENCES actors,
  name text NOT NULL,
  hash bytea NOT NULL UNIQUE,
  redacted text NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT statement_timestamp()
);
CREATE INDEX api_keys_of_account ON api_keys (account_id, created_at, id);

-- Tickets of sockets: single use, 30 s; kept hashed like every secret. A ticket ends with the
-- credential that asked for it.
CREATE TABLE tickets (
  hash bytea PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  actor_id text COLLATE "C" NOT NULL REFERENCES actors,
  credential jsonb NOT NULL,
  expires_at timestamptz NOT NULL
);

-- Rotated at each use. A used one that comes again revokes its whole family.
-- `began_at`: when the first token of the family was issued; the row of that token itself is purged
-- while the family goes on. `widget_id` is no key, since the token outlives the widget.
CREATE TABLE refresh_tokens (
  hash bytea PRIMARY KEY,
  family_id text NOT NULL,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  actor_id text COLLATE "C" NOT NULL REFERENCES actors,
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  began_at timestamptz,
  widget_id text COLLATE "C"
);
CREATE INDEX refresh_tokens_of_family ON refresh_tokens (family_id);
CREATE INDEX refresh_tokens_age ON refresh_tokens (expires_at);
CREATE INDEX refresh_tokens_of_actor ON refresh_tokens (actor_id);

CREATE TABLE messaging_groups (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  actor_id text COLLATE "C" NOT NULL REFERENCES actors,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  UNIQUE (account_id, name)
);
CREATE INDEX messaging_groups_of_account ON messaging_groups (account_id, created_at, id);

CREATE TABLE group_members (
  group_id text COLLATE "C" NOT NULL REFERENCES messaging_groups,
  actor_id text COLLATE "C" NOT NULL REFERENCES actors,
  position integer NOT NULL,
  PRIMARY KEY (group_id, actor_id)
);

CREATE TABLE entities (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  name text,
  handle text,
  created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT statement_timestamp()
);
CREATE INDEX entities_of_account ON entities (account_id, created_at, id);

-- The image of an actor. The id is a part of its public address, so it must not be guessable.
CREATE TABLE avatars (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  actor_id text COLLATE "C" NOT NULL UNIQUE REFERENCES actors,
  s3_key text COLLATE "C" NOT NULL,
  content_type text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX avatars_files ON avatars (s3_key);
CREATE INDEX avatars_of_account ON avatars (account_id);

-- presences: the status that sockets of a node declared for their actor; `until`: the last of them
-- has closed, and the actor counts as present until then. A row counts while its node does, as
-- presence_nodes says, where a node moves its time on for as long as it runs. Both tables are
-- unlogged: after a crash of Postgres the nodes write them again.
CREATE UNLOGGED TABLE presence_nodes (
  id text PRIMARY KEY,
  until timestamptz NOT NULL
);

CREATE UNLOGGED TABLE presences (
  actor_id text COLLATE "C" NOT NULL,
  node_id text NOT NULL,
  status text NOT NULL,
  until timestamptz,
  PRIMARY KEY (actor_id, node_id)
);
CREATE INDEX presences_of_node ON presences (node_id);

-- Customers whom the team has blocked (`blocker_id` is null), and users whom a user has blocked.
CREATE TABLE blocks (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts ON DELETE CASCADE,
  actor_id text COLLATE "C" NOT NULL REFERENCES actors ON DELETE CASCADE,
  blocker_id text COLLATE "C" REFERENCES actors ON DELETE CASCADE,
  created_by text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX blocks_by_team ON blocks (actor_id) WHERE blocker_id IS NULL;
CREATE UNIQUE INDEX blocks_by_user ON blocks (blocker_id, actor_id) WHERE blocker_id IS NOT NULL;
CREATE INDEX blocks_of_actor ON blocks (actor_id);
CREATE INDEX blocks_of_account ON blocks (account_id, created_at, id);
