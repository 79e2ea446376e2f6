import { type Kysely, sql } from 'kysely';

/**
 * Runs of agents. A run is a queue entry of its own: `pending`, or `running` without an owner, is to be taken up by
 * whichever node comes first; an owner renews its lease and counts `fence` up when it takes a run, so that what a
 * node does whose run was taken from it changes nothing.
 *
 * `agent_id` names the definition, which may be gone. `trigger_key` is what started the run (a message, an event,
 * an occurrence): each starts it once. `depth` counts the runs that led to it, `root_id` is the first of
 * them. `reply_message_id` is the message
 * or draft under way. `owner` is the node (Engine.nodeId).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE agent_runs (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    agent_id ${ID} NOT NULL,
    actor_id ${ID} NOT NULL REFERENCES actors,
    trigger_type text NOT NULL,
    trigger_key text NOT NULL,
    status text NOT NULL DEFAULT 'pending',
    input jsonb,
    output jsonb,
    error_message text,
    triggered_by ${ID} REFERENCES actors,
    conversation_id ${ID} REFERENCES conversations,
    trigger_message_id ${ID},
    reply_message_id ${ID},
    depth integer NOT NULL DEFAULT 0,
    root_id ${ID},
    owner text,
    fence bigint NOT NULL DEFAULT 0,
    lease_until timestamptz,
    cancel_requested_at timestamptz,
    cancelled_by ${ID} REFERENCES actors,
    started_at timestamptz,
    completed_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
    UNIQUE (agent_id, trigger_key)
  )`,
  'CREATE INDEX agent_runs_of_agent ON agent_runs (agent_id, created_at, id)',
  `CREATE INDEX agent_runs_of_root ON agent_runs (root_id) WHERE root_id IS NOT NULL`,
  // What of an agent is open, and what was at some time: what its doings come from.
  'CREATE INDEX agent_runs_of_actor ON agent_runs (actor_id, completed_at)',
  // What is to be taken up or over: a handful of rows, whatever the number of runs.
  `CREATE INDEX agent_runs_open ON agent_runs (created_at, id) WHERE status IN ('pending', 'running')`,
  `CREATE INDEX agent_runs_waiting ON agent_runs (updated_at) WHERE status = 'awaiting_approval'`,
  // What resume reads of an actor's own feed.
  `CREATE INDEX agent_runs_changed ON agent_runs (triggered_by, changed_in) WHERE triggered_by IS NOT NULL`,

  // One turn of the model each; \`calls\`: [{id, name, arguments}] as the model asked for them.
  `CREATE TABLE agent_run_steps (
    id ${ID} PRIMARY KEY,
    run_id ${ID} NOT NULL REFERENCES agent_runs ON DELETE CASCADE,
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
    UNIQUE (run_id, position)
  )`,

  // Tool calls. \`arguments\` is text: what a person approved is what is executed, byte for byte.
  `CREATE TABLE agent_run_actions (
    id ${ID} PRIMARY KEY,
    run_id ${ID} NOT NULL REFERENCES agent_runs ON DELETE CASCADE,
    step_id ${ID} NOT NULL REFERENCES agent_run_steps ON DELETE CASCADE,
    position integer NOT NULL,
    call_id text NOT NULL,
    tool text NOT NULL,
    category text NOT NULL,
    status text NOT NULL,
    arguments text NOT NULL,
    result jsonb,
    error_message text,
    reviewed_by ${ID} REFERENCES actors,
    reviewed_at timestamptz,
    reason text,
    expires_at timestamptz,
    started_at timestamptz,
    completed_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (step_id, position)
  )`,
  'CREATE INDEX agent_run_actions_of_run ON agent_run_actions (run_id)',
  `CREATE INDEX agent_run_actions_expiring ON agent_run_actions (expires_at) WHERE status = 'pending_review'`,

  // What agents wrote as files: the object is in the store under \`s3_key\`, as uploads are.
  `CREATE TABLE artifacts (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    run_id ${ID} NOT NULL REFERENCES agent_runs ON DELETE CASCADE,
    s3_key ${ID} NOT NULL UNIQUE,
    filename text NOT NULL,
    content_type text NOT NULL,
    size_bytes bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE INDEX artifacts_of_run ON artifacts (run_id)',
  // As of attachments: a purge looks at the file again (attachments/uploads.ts).
  `CREATE TRIGGER artifacts_detach AFTER DELETE ON artifacts
    FOR EACH ROW EXECUTE FUNCTION detach_upload()`,

  // What agents read by its id alone.
  'CREATE INDEX attachments_by_id ON attachments (id)',

  // When schedules were due, and what came of it: \`outcome\` is ran, ran_late or skipped.
  `CREATE TABLE agent_occurrences (
    agent_id ${ID} NOT NULL,
    due_at timestamptz NOT NULL,
    outcome text NOT NULL,
    reason text,
    run_id ${ID} REFERENCES agent_runs ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (agent_id, due_at)
  )`,

  // The next time that a scheduled agent is due; null: it is not scheduled, or never due again.
  'ALTER TABLE agent_definitions ADD COLUMN next_due_at timestamptz',
  'CREATE INDEX agent_definitions_due ON agent_definitions (next_due_at) WHERE next_due_at IS NOT NULL',
  // Who is started by an event.
  `CREATE INDEX agent_definitions_by_event ON agent_definitions (account_id)
    WHERE trigger_type = 'event' AND status = 'active'`,

  // What a node has not finished: looked for when somebody subscribes, and when a lease has run out.
  `CREATE INDEX messages_streaming ON messages (conversation_id, id) WHERE streaming_state = 'streaming'`,
];
