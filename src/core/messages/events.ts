import { createHash } from 'node:crypto';
import type { ConversationAudience } from '@parley/protocol/resources/conversation.ts';
import type { StreamSeal } from '@parley/protocol/socket/event-data.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Change } from '../events/changes.ts';
import { type ChangedArm, type EventReads, eventSource, type Since } from '../events/event-source.ts';
import type { DomainEvent } from '../frames/publish.ts';
import {
  type MessageRow,
  messageColumns,
  messageEvent,
  presentForTeam,
  presentMessage,
  withParts,
} from '../resources/message.ts';
import { outsideUpdateOf } from './rows/waiting-store.ts';

/**
 * Changed messages of a conversation, in its timeline or not. The condition is that of the index
 * messages_changed.
 */
const MESSAGES_ARM: ChangedArm = {
  part: 'messages',
  rows: `messages m WHERE m.conversation_id = s.id AND m.changed_in >= $3::xid8
          AND (m.updated_at > m.created_at OR m.sequence IS NULL)`,
  bytes: 'octet_length(m.body)',
};

/**
 * `message.updated` of sent messages: edits, tombstones, completed streams. Customers receive the
 * events of messages that they may see.
 */
export const messageEvents = eventSource({
  events: ['message.updated'],
  async read(from, changes) {
    return messageUpdates(from, await from.database.query(READ_SENT, idsOf(changes)), changes);
  },
  changed: {
    conversation: {
      arm: MESSAGES_ARM,
      async since(from, conversationIds, since) {
        return messageUpdates(from, await from.database.query(READ_CHANGED_SENT, conversationIds, since.xid));
      },
    },
  },
});

const OUTSIDE_EVENTS = ['draft.created', 'draft.updated', 'scheduled.updated'] as const;
type OutsideEvent = (typeof OUTSIDE_EVENTS)[number];

/**
 * Messages that are or were outside the timeline. Drafts are for the team. Schedules are for
 * readers that see the message before it is sent: the team of a case, otherwise the author on its
 * own feed.
 */
export const unsentEvents = eventSource({
  events: OUTSIDE_EVENTS,
  async read(from, changes) {
    const [first] = changes;
    if (first === undefined) return [];
    if (first.event === 'scheduled.updated') return scheduleUpdates(from, idsOf(changes));
    const rows = await from.database.query(READ_OUTSIDE, idsOf(changes));
    return outsideEvents(from, rows, () => first.event, changes);
  },
  changed: {
    conversation: {
      arm: MESSAGES_ARM,
      async since(from, conversationIds, since) {
        const rows = await from.database.query(READ_CHANGED_OUTSIDE, conversationIds, since.xid);
        return outsideEvents(from, rows, (row) => missedEventOf(row, since));
      },
    },
    actor: {
      arm: {
        part: 'schedules',
        rows: `messages m WHERE m.author_id = s.id AND m.kind = 'scheduled' AND m.changed_in >= $3::xid8`,
        bytes: 'octet_length(m.body)',
      },
      async since(from, authorIds, since) {
        const rows = await from.database.query(READ_CHANGED_SCHEDULES, authorIds, since.xid);
        return authorEvents(from, rows);
      },
    },
  },
});

/** Returns `draft.created` for a waiting draft newer than `since`, else an update. */
function missedEventOf(row: MessageRow, since: Since): OutsideEvent {
  const isNewDraft = row.kind !== 'scheduled' && row.outcome === null;
  return isNewDraft && Date.parse(row.created_at) >= Date.parse(since.began)
    ? 'draft.created'
    : outsideUpdateOf(row);
}

type RowOfAudience = MessageRow & { readonly audience: ConversationAudience };

async function messageUpdates(
  { database, files }: EventReads,
  rows: readonly RowOfAudience[],
  changes: readonly Change[] = [],
): Promise<DomainEvent[]> {
  const messages = await withParts(database, files, rows);
  return messages.map((message, index) => {
    const event = messageEvent('message.updated', message, rows[index]!.audience);
    return sealed(event, message.row, changes);
  });
}

async function scheduleUpdates(from: EventReads, ids: readonly string[]): Promise<DomainEvent[]> {
  const rows = await from.database.query(READ_SCHEDULES, ids);
  const ofCases = rows.filter(({ audience }) => audience === 'customer');
  return [...(await outsideEvents(from, ofCases, outsideUpdateOf)), ...(await authorEvents(from, rows))];
}

async function outsideEvents(
  { database, files }: EventReads,
  rows: readonly MessageRow[],
  eventOf: (row: MessageRow) => OutsideEvent,
  changes: readonly Change[] = [],
): Promise<DomainEvent[]> {
  const messages = await withParts(database, files, rows);
  return messages.map(({ row, sender, attachments }) => {
    const event: DomainEvent = {
      event: eventOf(row),
      stream: row.conversation_id,
      conversationId: row.conversation_id,
      sequence: row.sequence ?? 0,
      resource: row.id,
      at: row.updated_at,
      team: { ...presentForTeam(row, { sender, attachments }), outcome: row.outcome },
      customer: undefined,
      streaming: row.streaming_state === 'streaming',
    };
    return sealed(event, row, changes);
  });
}

type ScheduleRow = RowOfAudience & { readonly by_customer: boolean };

/** Returns events on the authors' own feeds, which subscribers of conversations do not get. */
async function authorEvents(
  { database, files }: EventReads,
  rows: readonly ScheduleRow[],
): Promise<DomainEvent[]> {
  const apart = rows.filter(({ audience, by_customer }) => audience === 'internal' || by_customer);
  const messages = await withParts(database, files, apart);
  return messages.map(({ row, sender, attachments }, index) => {
    const { outcome, by_customer } = apart[index]!;
    const author = { customer: by_customer, actor: { id: row.author_id! } };
    const data = { ...presentMessage(row, author, { sender, attachments }), outcome };
    return {
      event: 'scheduled.updated',
      stream: row.author_id!,
      conversationId: row.conversation_id,
      sequence: row.sequence ?? 0,
      resource: row.id,
      at: row.updated_at,
      team: by_customer ? undefined : data,
      customer: by_customer ? data : undefined,
    };
  });
}

/**
 * Returns the seal of a completed text, against which readers check their pieces. It covers the
 * body as it was read.
 */
function sealed(
  event: DomainEvent,
  { id, body, deleted_at }: MessageRow,
  changes: readonly Change[],
): DomainEvent {
  const attempt = changes.find((change) => change.id === id && change.attempt !== undefined)?.attempt;
  if (attempt === undefined || event.streaming === true || deleted_at !== null) return event;
  const text = body ?? '';
  const sha256 = createHash('sha256').update(text).digest('hex');
  const stream: StreamSeal = { attempt, length: text.length, sha256 };
  return {
    ...event,
    team: event.team && { ...event.team, stream },
    customer: event.customer && { ...event.customer, stream },
  };
}

function idsOf(changes: readonly Change[]): string[] {
  return [...new Set(changes.map(({ id }) => id))];
}

const READ_SENT = statement<[ids: readonly string[]], RowOfAudience>('read-updated-messages')`
    SELECT ${messageColumns('m')}, c.audience
    FROM messages m JOIN conversations c ON c.id = m.conversation_id
    WHERE m.id = ANY($1) AND m.status = 'sent'
    ORDER BY m.conversation_id, m.sequence`;

// New messages without a change are caught up by their numbers.
const READ_CHANGED_SENT = statement<[conversationIds: readonly string[], sinceXid: string], RowOfAudience>(
  'read-changed-messages',
)`
    SELECT ${messageColumns('m')}, c.audience
    FROM messages m JOIN conversations c ON c.id = m.conversation_id
    WHERE m.conversation_id = ANY($1) AND m.changed_in >= $2::xid8
      AND m.updated_at > m.created_at AND m.status = 'sent'
    ORDER BY m.conversation_id, m.sequence`;

const READ_OUTSIDE = statement<[ids: readonly string[]], MessageRow>('read-messages-outside')`
    SELECT ${messageColumns('m')} FROM messages m
    WHERE m.id = ANY($1) AND m.status <> 'void' ORDER BY m.updated_at`;

const SCHEDULES = `
    SELECT ${messageColumns('m')}, c.audience, a.customer AS by_customer
    FROM messages m JOIN conversations c ON c.id = m.conversation_id JOIN actors a ON a.id = m.author_id`;

const READ_SCHEDULES = statement<[ids: readonly string[]], ScheduleRow>('read-schedules')`
    ${SCHEDULES} WHERE m.id = ANY($1) ORDER BY m.updated_at`;

// The conditions are those of the index messages_schedules.
const READ_CHANGED_SCHEDULES = statement<[authorIds: readonly string[], sinceXid: string], ScheduleRow>(
  'read-changed-schedules',
)`
    ${SCHEDULES}
    WHERE m.author_id = ANY($1) AND m.kind = 'scheduled' AND m.changed_in >= $2::xid8
      AND (m.sequence IS NULL OR m.outcome IS NOT NULL)
    ORDER BY m.updated_at`;

// The first condition is that of the index. An approved draft or a delivered schedule is a change
// too.
const READ_CHANGED_OUTSIDE = statement<[conversationIds: readonly string[], sinceXid: string], MessageRow>(
  'read-changed-outside',
)`
    SELECT ${messageColumns('m')} FROM messages m JOIN conversations c ON c.id = m.conversation_id
    WHERE m.conversation_id = ANY($1) AND m.changed_in >= $2::xid8
      AND (m.updated_at > m.created_at OR m.sequence IS NULL)
      AND (m.sequence IS NULL OR m.outcome IS NOT NULL)
      AND (m.kind <> 'scheduled' OR c.audience = 'customer')
    ORDER BY m.updated_at`;
