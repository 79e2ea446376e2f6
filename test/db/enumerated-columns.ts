/** The values of enumerated columns, as the rows' types say: the compiler compares both. */

import type { Selectable } from 'kysely';
import type { Schema } from '../../src/platform/db/tables/schema.ts';

type IsEnumerated<T> = [T] extends [never]
  ? false
  : [T] extends [string]
    ? string extends T
      ? false
      : true
    : false;

type Enumerated<Row> = {
  readonly [Column in keyof Row as IsEnumerated<NonNullable<Row[Column]>> extends true
    ? Column
    : never]: Readonly<Record<NonNullable<Row[Column]> & string, true>>;
};

type Enumerations = {
  readonly [Table in keyof Schema as keyof Enumerated<Selectable<Schema[Table]>> extends never
    ? never
    : Table]: Enumerated<Selectable<Schema[Table]>>;
};

const ENUMERATIONS: Enumerations = {
  accounts: {
    own_ids: { keys: true, team: true },
    people: { everyone: true, shared: true },
    handles: { everyone: true, admins: true },
    picture_metadata: { keep: true, remove: true },
    push_content: { none: true, text: true },
    plan: { free: true, pro: true },
    subscription: { active: true, inactive: true },
  },
  account_moves: {
    state: { arrived: true, arriving: true, closing: true, fenced: true, leaving: true, left: true },
  },
  actors: {
    type: { agent: true, api_key: true, group: true, user: true },
  },
  address_confirmations: {
    language: {
      ar: true,
      de: true,
      en: true,
      es: true,
      fr: true,
      it: true,
      ja: true,
      nl: true,
      pl: true,
      pt: true,
      tr: true,
      zh: true,
    },
  },
  agent_definitions: {
    definition_type: { custom: true, system: true },
    status: { active: true, inactive: true },
    tier: { balanced: true, cheap: true, frontier: true, high: true, legacy: true },
    trigger_type: { chat: true, event: true, manual: true, scheduled: true },
  },
  agent_occurrences: {
    outcome: { ran: true, ran_late: true, skipped: true },
    reason: { missed: true, overlap: true, too_late: true, unsubscribed: true },
  },
  agent_run_actions: {
    category: { api_endpoint: true, built_in: true },
    status: {
      approved: true,
      cancelled: true,
      completed: true,
      executing: true,
      expired: true,
      failed: true,
      pending_review: true,
      rejected: true,
    },
  },
  agent_run_steps: {
    incomplete: { content_filter: true, error: true, length: true },
    status: { completed: true, failed: true, running: true },
  },
  agent_runs: {
    status: {
      awaiting_approval: true,
      awaiting_input: true,
      cancelled: true,
      completed: true,
      failed: true,
      pending: true,
      running: true,
    },
    trigger_type: { chat: true, event: true, manual: true, scheduled: true },
  },
  attachments: {
    kind: { file: true, image: true, link: true, resource: true },
    picture_metadata: { kept: true, removed: true },
    resource_type: { account: true, actor: true, entity: true },
  },
  compliance_jobs: {
    kind: { conversation_export: true, user_erasure: true, user_export: true },
    status: { complete: true, expired: true, failed: true, queued: true, running: true },
  },
  conversations: {
    audience: { customer: true, internal: true },
    lane_behind: {
      needs_approval: true,
      new: true,
      open: true,
      resolved: true,
      waiting_external: true,
      waiting_internal: true,
    },
    legal_hold: { held: true, released: true },
    status: { active: true, archived: true },
    topic_type: { account: true, actor: true, entity: true },
    type: { direct_message: true, group: true, system: true },
    workflow_status: {
      needs_approval: true,
      new: true,
      open: true,
      resolved: true,
      waiting_external: true,
      waiting_internal: true,
    },
  },
  identity_providers: {
    person: { customer: true, team: true },
    provision: { first_use: true, off: true },
    subject: { external_id: true, own: true },
  },
  mails: {
    direction: { in: true, out: true },
    protection: { encrypted: true, signed: true },
    purpose: {
      automatic: true,
      bounce: true,
      confirmation: true,
      digest: true,
      invitation: true,
      message: true,
      note: true,
      reply: true,
    },
    status: {
      accepted: true,
      bounced: true,
      canceled: true,
      deferred: true,
      failed: true,
      ignored: true,
      queued: true,
      received: true,
      sent: true,
    },
  },
  import_remarks: {
    type: {
      conversations: true,
      documents: true,
      files: true,
      messages: true,
      note: true,
      people: true,
      pins: true,
      reactions: true,
      read_positions: true,
    },
  },
  imports: {
    source: { mattermost: true, parley: true, slack: true, zulip: true },
    status: {
      awaiting_upload: true,
      canceled: true,
      completed: true,
      failed: true,
      queued: true,
      running: true,
    },
  },
  messages: {
    channel: { email: true, message: true },
    incomplete: { content_filter: true, error: true, length: true },
    email_status: { bounced: true, canceled: true, deferred: true, failed: true, queued: true, sent: true },
    kind: {
      agent: true,
      alert: true,
      chat: true,
      email: true,
      scheduled: true,
      system_event: true,
      void: true,
    },
    priority: { high: true, low: true, normal: true },
    resource_type: { account: true, actor: true, entity: true },
    status: {
      canceled: true,
      draft: true,
      failed: true,
      rejected: true,
      scheduled: true,
      sent: true,
      superseded: true,
      void: true,
    },
    streaming_state: { complete: true, streaming: true },
    visibility: { external: true, internal: true, system: true },
  },
  notifications: {
    priority: { high: true, low: true, normal: true },
    resource_type: { account: true, actor: true, entity: true },
    sender_type: { group: true, system: true, user: true },
    status: { dismissed: true, read: true, seen: true, unseen: true },
  },
  participants: {
    agent_trigger_policy: { always: true, keyword: true, mention: true },
    membership: { active: true, hidden: true, left: true, removed: true },
    notifications: { muted: true, unmuted: true },
    role: { admin: true, member: true, owner: true, viewer: true },
    type: { agent: true, customer: true, system: true, user: true },
  },
  presences: {
    status: { away: true, online: true },
  },
  push_apps: {
    environment: { production: true, sandbox: true },
    platform: { apns: true, fcm: true },
  },
  questions: { status: { answered: true, expired: true, open: true, withdrawn: true } },
  roles: {
    type: { admin: true, agent: true, sales_rep: true, scanner: true, user: true },
  },
  webhook_deliveries: {
    last_error: {
      address_not_public: true,
      connection_error: true,
      gone: true,
      invalid_response: true,
      redirect: true,
      status: true,
      timeout: true,
      webhook_disabled: true,
    },
    status: { delivered: true, failed: true, pending: true, withdrawn: true },
  },
  webhooks: {
    disabled_reason: { backlog: true, failing: true, gone: true, requested: true },
    status: { disabled: true, enabled: true },
  },
};

/** Table → column → its values. */
export const enumeratedColumns: ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>> = new Map(
  Object.entries(ENUMERATIONS).map(([table, columns]) => [
    table,
    new Map(
      Object.entries(columns).map(([column, values]) => [column, new Set(Object.keys(values))] as const),
    ),
  ]),
);
