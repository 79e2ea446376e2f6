import { TIMES, USUAL_TIME } from './samples.ts';

const ACTOR = 'act_0VQ3mK8ZtYp4Xw7LbN2cRd9F';
const UNSENT = { sequence: null, sent_at: null };
const SCHEDULED = { kind: 'scheduled', scheduled_at: '2026-03-03T07:00:00.000000Z' };

/**
 * The fields by which the answer of an operation shows its effect, if their values are not the
 * usual ones of the resource (samples.ts). test/http/examples.test.ts compares them with real
 * answers.
 */
export const EFFECTS: Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>> = {
  reject_reply_draft: { ...UNSENT, status: 'rejected', visibility: 'external', client_message_id: null },
  approve_reply_draft: { visibility: 'external', client_message_id: null, approved_by: ACTOR },
  cancel_scheduled_message: { ...SCHEDULED, ...UNSENT, status: 'canceled' },
  send_scheduled_message_now: SCHEDULED,
  update_message: { edited_at: TIMES.updated_at, edited_by: ACTOR },
  delete_message: { body: null, deleted_at: TIMES.updated_at },
  redact_message: {
    body: null,
    deleted_at: TIMES.updated_at,
    redaction: { by: ACTOR, reason: 'It has the number of a card.', at: TIMES.updated_at },
  },
  create_alert: { kind: 'alert', client_message_id: null },
  unpin_message: { pinned_at: null, pinned_by: null },
  create_conversation: { unread: 0, last_message_at: null },
  put_conversation: { unread: 0, last_message_at: null },
  set_legal_hold: { legal_hold: 'held' },
  delete_conversation: { deleted_at: TIMES.updated_at },
  hide_conversation: { status: 'hidden' },
  snooze_conversation: { snoozed: true, snoozed_until: TIMES.until },
  mark_conversation_read: { unread: 0 },
  remove_participant: { membership: 'removed', last_read_sequence: null },
  see_notification: { status: 'seen', seen_at: TIMES.updated_at },
  read_notification: { status: 'read', seen_at: TIMES.updated_at, read_at: TIMES.updated_at },
  dismiss_notification: { status: 'dismissed', dismissed_at: TIMES.updated_at },
  deactivate_user: { status: 'deactivated' },
  revoke_api_key: { status: 'revoked', revoked_at: TIMES.updated_at },
  delete_installation_account: { subscription: 'inactive', deleted_at: TIMES.updated_at },
  create_import: { status: 'awaiting_upload', started_at: null },
  start_import: { status: 'queued', started_at: null },
  cancel_import: { status: 'canceled', started_at: null, completed_at: USUAL_TIME },
  trigger_agent_run: { status: 'pending', started_at: null, completed_at: null, duration_ms: null },
  cancel_agent_run: { status: 'cancelled' },
};
