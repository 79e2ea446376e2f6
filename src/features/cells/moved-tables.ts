/** How the rows of an account in a table are found, and which of them wait for the last moment. */
export interface MovedTable {
  /**
   * The column that names the row of `of` whose account is the row's own; `account_id` where the
   * table has the account itself and an index by it.
   */
  readonly by: string;
  /** A table with `account_id`; absent where `by` is the account. */
  readonly of?: string;
  /**
   * SQL over `t`: rows that make nodes begin work, or that let the account be used. They come with
   * the last rows, when the account is opened at the target.
   */
  readonly last?: string;
  /** The column with the key of a file, and SQL for its content type. */
  readonly file?: readonly [key: string, contentType: string];
}

const OWN: MovedTable = { by: 'account_id' };
const OWN_LAST: MovedTable = { ...OWN, last: 'true' };
const OF_CONVERSATION: MovedTable = { by: 'conversation_id', of: 'conversations' };
const OF_ACTOR: MovedTable = { by: 'actor_id', of: 'actors' };

/**
 * Every table with rows of accounts. test/cells/moved-tables.test.ts compares it with the schema.
 */
export const MOVED_TABLES: Readonly<Record<string, MovedTable>> = {
  accounts: { by: 'id', last: 'true' },
  roles: OWN,
  actors: OWN,
  entities: OWN,
  messaging_groups: OWN,
  group_members: OF_ACTOR,
  users: OWN,
  api_keys: OWN,
  tickets: OWN,
  refresh_tokens: OWN,
  sign_ins: OWN,
  invitations: OWN,
  avatars: { ...OWN, file: ['s3_key', 't.content_type'] },
  idempotency_keys: OWN,
  identity_providers: OWN,
  identities: OWN,
  logout_tokens: { by: 'provider_id', of: 'identity_providers' },

  stored_bytes: OWN,
  uploads: { ...OWN, file: ['s3_key', 't.content_type'] },
  conversations: OWN,
  participants: OF_CONVERSATION,
  blocks: OWN,
  messages: { ...OF_CONVERSATION, last: "t.status = 'scheduled'" },
  message_revisions: OF_CONVERSATION,
  attachments: { ...OF_CONVERSATION, file: ['s3_key', 't.content_type'] },
  reactions: OF_CONVERSATION,
  reacted_messages: OF_CONVERSATION,
  pins: OF_CONVERSATION,
  thread_reads: OF_CONVERSATION,

  notifications: { by: 'recipient_id', of: 'actors' },
  notification_settings: OWN_LAST,
  push_subscriptions: OWN_LAST,
  push_deliveries: { by: 'subscription_id', of: 'push_subscriptions', last: 'true' },
  digests: { ...OF_ACTOR, last: 'true' },
  conversation_activity: OWN,
  inbox_rows: OWN,
  search_entries: OF_CONVERSATION,

  agent_definitions: OWN_LAST,
  agent_occurrences: { by: 'agent_id', of: 'agent_definitions' },
  agent_runs: { ...OWN, last: 't.completed_at IS NULL' },
  agent_run_steps: { by: 'run_id', of: 'agent_runs' },
  agent_run_actions: { by: 'run_id', of: 'agent_runs', last: "t.status = 'pending_review'" },
  artifacts: { ...OWN, file: ['s3_key', 't.content_type'] },
  platform_events: OWN,

  webhooks: OWN_LAST,
  webhook_progress: { by: 'webhook_id', of: 'webhooks' },
  webhook_deliveries: { by: 'webhook_id', of: 'webhooks', last: 't.next_try_at IS NOT NULL' },

  inboxes: OWN_LAST,
  mails: { ...OWN, last: 't.next_try_at IS NOT NULL', file: ['source_key', "'message/rfc822'"] },
  mail_threads: OWN,

  widgets: OWN_LAST,
  visitors: OWN,
  address_confirmations: OWN,

  imports: { ...OWN, last: 't.completed_at IS NULL' },
  import_parts: {
    ...{ by: 'import_id', of: 'imports' },
    file: ['s3_key', "'application/octet-stream'"],
  },
  import_refs: OWN,
  import_remarks: { by: 'import_id', of: 'imports' },

  retention_policies: OWN_LAST,
  compliance_jobs: {
    ...OWN,
    last: 't.completed_at IS NULL',
    file: ['s3_key', "'application/zip'"],
  },

  audit_chains: OWN_LAST,
  audit_checkpoints: OWN,
  audit_handovers: OWN,
  audit_events: { ...OWN, last: 't.number IS NULL' },
};

/** Tables that stay, each with the reason. */
export const STAYING_TABLES: Readonly<Record<string, string>> = {
  inbox_due: 'as `outbox`',
  jobs: 'those of scheduled messages are added at the target (account-move.ts)',
  account_moves: 'says where the account is',
  operators: 'of the installation: the operators of the target name theirs',
  outbox: 'what is left of it is enqueued at the target (pending-events.ts)',
  presence_nodes: 'of nodes',
  presences: 'of nodes',
  search_changes: 'keeps nothing',
  search_notes: 'as `outbox`',
  search_state: 'of the installation',
  settings: 'of the installation',
};

/** Returns the SQL behind `FROM <table> t` that finds the rows of the account `$1`. */
export function rowsOf({ by, of }: MovedTable): string {
  return of === undefined
    ? `WHERE t.${by} = $1`
    : `WHERE t.${by} IN (SELECT id FROM ${of} WHERE account_id = $1)`;
}
