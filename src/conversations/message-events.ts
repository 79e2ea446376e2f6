import { createHash } from 'node:crypto';
import type { Downloads } from '../attachments/storage.ts';
import type { Db } from '../db/handle.ts';
import type { DomainEvent } from '../engine/publish.ts';
import type { ConversationAudience } from '../protocol/resources/conversation.ts';
import type { StreamSeal } from '../protocol/socket/event-data.ts';
import { messageEvent, presentForTeam, presentMessage } from './message-present.ts';
import { type MessageRow, messageColumns, withParts } from './message-rows.ts';
import type { Change } from './outbox-topics.ts';

/** The events of what is, or was, outside the timeline. */
export type OutsideEvent = 'draft.created' | 'draft.updated' | 'scheduled.updated';

/** `message.updated` of sent messages: edits, tombstones, finished streams. Customers get those that they may see. */
export async function messageUpdates(
  db: Db,
  files: Downloads,
  changes: readonly Change[],
): Promise<readonly DomainEvent[]> {
  const rows = await db.query<MessageRow & { audience: ConversationAudience }>(READ_SENT, [idsOf(changes)]);
  const messages = await withParts(db, files, rows);
  return messages.map((message, index) =>
    sealed(messageEvent('message.updated', message, rows[index]!.audience), message.row, changes),
  );
}

/** `draft.created` and `draft.updated`, for the team: changes of one of these events. */
export async function outsideUpdates(
  db: Db,
  files: Downloads,
  changes: readonly Change[],
): Promise<readonly DomainEvent[]> {
  const [first] = changes;
  if (first === undefined) return [];
  const rows = await db.query<MessageRow>(READ_OUTSIDE, [idsOf(changes)]);
  const events = await outsideEvents(db, files, rows, () => first.event as OutsideEvent);
  return events.map((event, index) => sealed(event, rows[index]!, changes));
}

/**
 * `scheduled.updated`, for those that may see the message before it is sent: on a case the team, and the author on its
 * own feed where that does not include the author.
 */
export async function scheduleUpdates(
  db: Db,
  files: Downloads,
  changes: readonly Pick<Change, 'id'>[],
): Promise<readonly DomainEvent[]> {
  const rows = await db.query<ScheduleRow>(READ_SCHEDULES, [changes.map(({ id }) => id)]);
  const ofCases = rows.filter(({ audience }) => audience === 'customer');
  return [
    ...(await outsideEvents(db, files, ofCases, outsideUpdateOf)),
    ...(await authorEvents(db, files, rows)),
  ];
}

/** What the feeds of these authors may have missed of their schedules since the transaction `since`. */
export async function changedSchedules(
  db: Db,
  files: Downloads,
  authorIds: readonly string[],
  since: string,
): Promise<readonly DomainEvent[]> {
  return authorEvents(db, files, await db.query<ScheduleRow>(READ_CHANGED_SCHEDULES, [authorIds, since]));
}

/**
 * What changed in these conversations outside their timelines since the transaction `since` (an xid8 as
 * decimal text): for readers that may have missed it. Oldest changes first.
 */
export async function changedOutside(
  db: Db,
  files: Downloads,
  conversationIds: readonly string[],
  since: string,
): Promise<readonly DomainEvent[]> {
  const rows = await db.query<MessageRow>(READ_CHANGED_OUTSIDE, [conversationIds, since]);
  return outsideEvents(db, files, rows, outsideUpdateOf);
}

/** The event of a change to a row that began outside the timeline. */
export function outsideUpdateOf({ kind }: Pick<MessageRow, 'kind'>): OutsideEvent {
  return kind === 'scheduled' ? 'scheduled.updated' : 'draft.updated';
}

async function outsideEvents(
  db: Db,
  files: Downloads,
  rows: readonly MessageRow[],
  eventOf: (row: MessageRow) => OutsideEvent,
): Promise<DomainEvent[]> {
  const messages = await withParts(db, files, rows);
  return messages.map(({ row, sender, attachments }) => ({
    event: eventOf(row),
    stream: row.conversation_id,
    conversationId: row.conversation_id,
    sequence: row.sequence ?? 0,
    resource: row.id,
    at: row.updated_at,
    team: { ...presentForTeam(row, { sender, attachments }), outcome: row.outcome },
    customer: undefined,
    streaming: row.streaming_state === 'streaming',
  }));
}

interface ScheduleRow extends MessageRow {
  readonly audience: ConversationAudience;
  readonly by_customer: boolean;
}

/** On the authors' own feeds, which the conversation's subscribers do not get. */
async function authorEvents(db: Db, files: Downloads, rows: readonly ScheduleRow[]): Promise<DomainEvent[]> {
  const apart = rows.filter(({ audience, by_customer }) => audience === 'internal' || by_customer);
  const messages = await withParts(db, files, apart);
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

/** Of a text that was written to its end, what its readers check their pieces against: of the body as it was read. */
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

const READ_SENT = {
  name: 'read-updated-messages',
  text: `
    SELECT ${messageColumns('m')}, c.audience
    FROM messages m JOIN conversations c ON c.id = m.conversation_id
    WHERE m.id = ANY($1) AND m.status = 'sent'
    ORDER BY m.conversation_id, m.sequence`,
};

const READ_OUTSIDE = {
  name: 'read-messages-outside',
  text: `
    SELECT ${messageColumns('m')} FROM messages m
    WHERE m.id = ANY($1) AND m.status <> 'void' ORDER BY m.updated_at`,
};

const SCHEDULES = `
    SELECT ${messageColumns('m')}, c.audience, a.customer AS by_customer
    FROM messages m JOIN conversations c ON c.id = m.conversation_id JOIN actors a ON a.id = m.author_id`;

const READ_SCHEDULES = {
  name: 'read-schedules',
  text: `${SCHEDULES} WHERE m.id = ANY($1) ORDER BY m.updated_at`,
};

// Its conditions are those of the index messages_schedules.
const READ_CHANGED_SCHEDULES = {
  name: 'read-changed-schedules',
  text: `${SCHEDULES}
    WHERE m.author_id = ANY($1) AND m.kind = 'scheduled' AND m.changed_in >= $2::xid8
      AND (m.sequence IS NULL OR m.outcome IS NOT NULL)
    ORDER BY m.updated_at`,
};

// The first condition is the index's own; an approved draft and a delivered schedule are changes of theirs too.
const READ_CHANGED_OUTSIDE = {
  name: 'read-changed-outside',
  text: `
    SELECT ${messageColumns('m')} FROM messages m JOIN conversations c ON c.id = m.conversation_id
    WHERE m.conversation_id = ANY($1) AND m.changed_in >= $2::xid8
      AND (m.updated_at > m.created_at OR m.sequence IS NULL)
      AND (m.sequence IS NULL OR m.outcome IS NOT NULL)
      AND (m.kind <> 'scheduled' OR c.audience = 'customer')
    ORDER BY m.updated_at`,
};
