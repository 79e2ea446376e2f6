-- Chats that pages of an account embed. Conversations and refresh tokens name theirs by an id
-- alone, since they outlive it.
CREATE TABLE widgets (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  name text NOT NULL,
  sites text[] NOT NULL,
  group_id text COLLATE "C" REFERENCES messaging_groups ON DELETE SET NULL,
  hours jsonb,
  texts jsonb NOT NULL DEFAULT '{}',
  colors jsonb NOT NULL DEFAULT '{}',
  identity_provider_id text COLLATE "C" REFERENCES identity_providers ON DELETE SET NULL,
  enabled boolean NOT NULL DEFAULT true,
  created_by text COLLATE "C" NOT NULL REFERENCES actors,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX widgets_of_account ON widgets (account_id, created_at, id);
CREATE INDEX widgets_of_group ON widgets (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX widgets_of_provider ON widgets (identity_provider_id)
  WHERE identity_provider_id IS NOT NULL;

-- Customers that came by a widget without a name. `id` is that of the actor, whose row goes when
-- another customer has claimed the visitor; this one stays, and refuses a second claim.
-- `conversation_ids`: what moved with it.
CREATE TABLE visitors (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  widget_id text COLLATE "C" NOT NULL,
  claimed_by text COLLATE "C",
  claimed_at timestamptz,
  conversation_ids text[],
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX visitors_of_account ON visitors (account_id);
CREATE INDEX visitors_by_age ON visitors (created_at) WHERE claimed_by IS NULL;
CREATE INDEX visitors_claimed ON visitors (claimed_at) WHERE claimed_at IS NOT NULL;
CREATE INDEX visitors_claimed_by ON visitors (claimed_by) WHERE claimed_by IS NOT NULL;

-- Links that were mailed to an address that a visitor typed. The token of a link is derived from
-- the id and a secret; only its hash is stored.
CREATE TABLE address_confirmations (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  widget_id text COLLATE "C" NOT NULL,
  visitor_id text COLLATE "C" NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  address text NOT NULL,
  language text NOT NULL,
  used_at timestamptz,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX address_confirmations_address ON address_confirmations (lower(address), created_at);
CREATE INDEX address_confirmations_visitor ON address_confirmations (visitor_id);
CREATE INDEX address_confirmations_account ON address_confirmations (account_id);
CREATE INDEX address_confirmations_expired ON address_confirmations (expires_at);
