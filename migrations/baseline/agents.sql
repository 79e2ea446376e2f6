-- Agents and their runs.

-- Agents as they are defined. `actor_id` is whom an agent acts as; its role is also the actor's,
-- and is here so that a definition is read in one go. `tier` null: chosen from the trigger when it
-- runs. `tools` are the attached built-in ones in their order, each {id, tool, review_requirement,
-- config, sort_order, created_at, updated_at}: they are only ever read and written with their
-- agent. `next_due_at`: the next time that a scheduled agent is due; null: it is not scheduled, or
-- never due again.
CREATE TABLE agent_definitions (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  actor_id text COLLATE "C" NOT NULL UNIQUE REFERENCES actors,
  definition_type text NOT NULL DEFAULT 'custom',
  category_code text NOT NULL,
  trigger_type text NOT NULL,
  name text NOT NULL,
  slug text NOT NULL,
  description text,
  status text NOT NULL DEFAULT 'active',
  role_id text COLLATE "C" REFERENCES roles,
  system_prompt text,
  tier text,
  temperature double precision,
  trigger_config jsonb,
  endpoint_tool_slugs text[] NOT NULL DEFAULT '{}',
  endpoint_tool_review jsonb NOT NULL DEFAULT '{}',
  tools jsonb NOT NULL DEFAULT '[]',
  created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  next_due_at timestamptz,
  UNIQUE (account_id, slug)
);
CREATE INDEX agent_definitions_of_account ON agent_definitions (account_id, created_at, id);
CREATE INDEX agent_definitions_due ON agent_definitions (next_due_at)
  WHERE next_due_at IS NOT NULL;
CREATE INDEX agent_definitions_by_event ON agent_definitions (account_id)
  WHERE trigger_type = 'event' AND status = 'active';

-- A run is a queue entry of its own: `pending`, or `running` without an owner, is to be taken up by
-- whichever node comes first; an owner renews its lease and counts `fence` up when it takes a run,
-- so that what a node does whose run was taken from it changes nothing.
-- `agent_id` names the definition, which may be gone. `trigger_key` is what started the run (a
-- message, an event, an occurrence): each starts it once. `depth` counts the runs that led to it,
-- `root_id` is the first of them. `reply_message_id` is the message or draft under way. `owner` is
-- the node (Engine.nodeId).
-- `traceparent`: the trace of the request that started the run, as W3C has it: log lines of the run
-- and its calls of models name it. Null where the request had none, and where a schedule started
-- the run.
CREATE TABLE agent_runs (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  agent_id text COLLATE "C" NOT NULL,
  actor_id text COLLATE "C" NOT NULL REFERENCES actors,
  trigger_type text NOT NULL,
  trigger_key text NOT NULL,
  status text NOT NULL DEFAULT 'pending',
  input jsonb,
  output jsonb,
  error_message text,
  triggered_by text COLLATE "C" REFERENCES actors,
  conversation_id text COLLATE "C" REFERENCES conversations,
  trigger_message_id text COLLATE "C",
  reply_message_id text COLLATE "C",
  depth integer NOT NULL DEFAULT 0,
  root_id text COLLATE "C",
  owner text,
  fence bigint NOT NULL DEFAULT 0,
  lease_until timestamptz,
  cancel_requested_at timestamptz,
  cancelled_by text COLLATE "C" REFERENCES actors,
  started_at timestamptz,
  completed_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
  traceparent text,
  UNIQUE (agent_id, trigger_key)
);
CREATE INDEX agent_runs_of_agent ON agent_runs (agent_id, created_at, id);
CREATE INDEX agent_runs_of_root ON agent_runs (root_id) WHERE root_id IS NOT NULL;

-- What of an agent is open, and what was at some time: what its doings come from.
CREATE INDEX agent_runs_of_actor ON agent_runs (actor_id, completed_at);

-- What is to be taken up or over: a handful of rows, whatever the number of runs.
CREATE INDEX agent_runs_open ON agent_runs (created_at, id) WHERE status IN ('pending', 'running');
CREATE INDEX agent_runs_waiting ON agent_runs (updated_at) WHERE status = 'awaiting_approval';

-- What resume reads of an actor's own feed.
CREATE INDEX agent_runs_changed ON agent_runs (triggered_by, changed_in)
  WHERE triggered_by IS NOT NULL;

-- One turn of the model each; `calls`: [{id, name, arguments}] as the model asked for them.
-- `incomplete`: why the answer is not whole; null where it is.
CREATE TABLE agent_run_steps (
  id text COLLATE "C" PRIMARY KEY,
  run_id text COLLATE "C" NOT NULL REFERENCES agent_runs ON DELETE CASCADE,
  position integer NOT NULL,
  status text NOT NULL DEFAULT 'running',
  provider text,
  model text,
  failovers jsonb NOT NULL DEFAULT '[]',
  text text,
  calls jsonb NOT NULL DEFAULT '[]',
  input_tokens bigint,
  output_tokens bigint,
  cost_usd double precision,
  error_message text,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  completed_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  incomplete text,
  UNIQUE (run_id, position)
);

-- Tool calls. `arguments` is text: what a person approved is what is executed, byte for byte.
CREATE TABLE agent_run_actions (
  id text COLLATE "C" PRIMARY KEY,
  run_id text COLLATE "C" NOT NULL REFERENCES agent_runs ON DELETE CASCADE,
  step_id text COLLATE "C" NOT NULL REFERENCES agent_run_steps ON DELETE CASCADE,
  position integer NOT NULL,
  call_id text NOT NULL,
  tool text NOT NULL,
  category text NOT NULL,
  status text NOT NULL,
  arguments text NOT NULL,
  result jsonb,
  error_message text,
  reviewed_by text COLLATE "C" REFERENCES actors,
  reviewed_at timestamptz,
  reason text,
  expires_at timestamptz,
  started_at timestamptz,
  completed_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (step_id, position)
);
CREATE INDEX agent_run_actions_of_run ON agent_run_actions (run_id);
CREATE INDEX agent_run_actions_expiring ON agent_run_actions (expires_at)
  WHERE status = 'pending_review';

-- What agents wrote as files: the object is in the store under `s3_key`, as uploads are, and a
-- purge looks at it again when the row goes.
CREATE TABLE artifacts (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  run_id text COLLATE "C" NOT NULL REFERENCES agent_runs ON DELETE CASCADE,
  s3_key text COLLATE "C" NOT NULL UNIQUE,
  filename text NOT NULL,
  content_type text NOT NULL,
  size_bytes bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX artifacts_of_run ON artifacts (run_id);
CREATE TRIGGER artifacts_detach AFTER DELETE ON artifacts
  FOR EACH ROW EXECUTE FUNCTION detach_upload();

-- When schedules were due, and what came of it: `outcome` is ran, ran_late or skipped.
CREATE TABLE agent_occurrences (
  agent_id text COLLATE "C" NOT NULL,
  due_at timestamptz NOT NULL,
  outcome text NOT NULL,
  reason text,
  run_id text COLLATE "C" REFERENCES agent_runs ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (agent_id, due_at)
);
