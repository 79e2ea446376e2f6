-- Identity providers, and the sessions that begin by them or by an invitation.

-- The issuers whose tokens an account trusts, one row an issuer. Exactly one of `jwks_url`, `jwks`
-- and `secret` verifies signatures. `revision` grows with each change that may end credentials, and
-- tokens, tickets and sockets are bound to it. `client_id` and `client_secret` are for the sign-in
-- of people.
CREATE TABLE identity_providers (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
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
  role_id text COLLATE "C" REFERENCES roles,
  client_id text,
  client_secret text,
  revision integer NOT NULL DEFAULT 1,
  created_by text COLLATE "C" NOT NULL REFERENCES actors,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX identity_providers_issuer ON identity_providers (account_id, issuer);
CREATE INDEX identity_providers_role ON identity_providers (role_id) WHERE role_id IS NOT NULL;

-- The persons that tokens have named. `hash` is a keyed hash of issuer and subject. The row stays
-- when the person is erased, so that its tokens stay refused.
CREATE TABLE identities (
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  hash bytea NOT NULL,
  actor_id text COLLATE "C" NOT NULL REFERENCES actors,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (account_id, hash)
);
CREATE INDEX identities_actor ON identities (actor_id);

-- The sessions that began at an identity provider, with what its logout tokens name: `subject`, and
-- `sid`, the session there. A session is a family of refresh tokens, so there is no key to refer
-- to. One that began by an invitation has no provider, issuer and subject.
CREATE TABLE sign_ins (
  session_id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  actor_id text COLLATE "C" NOT NULL REFERENCES actors,
  provider_id text COLLATE "C",
  issuer text COLLATE "C",
  subject text COLLATE "C",
  sid text COLLATE "C",
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX sign_ins_subject ON sign_ins (provider_id, subject);
CREATE INDEX sign_ins_sid ON sign_ins (provider_id, sid) WHERE sid IS NOT NULL;
CREATE INDEX sign_ins_actor ON sign_ins (actor_id);
CREATE INDEX sign_ins_account ON sign_ins (account_id);

-- The ids of logout tokens that were used, until each has expired.
CREATE TABLE logout_tokens (
  provider_id text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (provider_id, hash)
);

-- By which a user signs in without an identity provider, one for each user at most: a new one
-- replaces the former. A change of what the user may do removes it, whatever writes the change.
-- `used_at`: by then the invitation says only that it was used.
CREATE TABLE invitations (
  actor_id text COLLATE "C" PRIMARY KEY REFERENCES actors,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  hash bytea NOT NULL UNIQUE,
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX invitations_account ON invitations (account_id);

CREATE FUNCTION end_invitations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM invitations WHERE actor_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER actors_end_invitations AFTER UPDATE OF role_id, deactivated_at, tokens_ended_at
  ON actors
  FOR EACH ROW WHEN (
    OLD.role_id IS DISTINCT FROM NEW.role_id OR OLD.deactivated_at IS DISTINCT FROM NEW.deactivated_at
    OR OLD.tokens_ended_at IS DISTINCT FROM NEW.tokens_ended_at)
  EXECUTE FUNCTION end_invitations();
