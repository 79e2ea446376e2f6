import { changedRuns } from '../../agents/runs/events.ts';
import type { Downloads } from '../../attachments/storage.ts';
import { changedConversations, changedMemberships } from '../../conversations/conversation-events.ts';
import { changedOutside, changedSchedules } from '../../conversations/message-events.ts';
import { messageEvent } from '../../conversations/message-present.ts';
import { type MessageRow, messageColumns, withParts } from '../../conversations/message-rows.ts';
import type { Database } from '../../db/database.ts';
import type { CommittedFrame } from '../../engine/frame.ts';
import { type DomainEvent, toFrame } from '../../engine/publish.ts';
import { changedNotifications } from '../../notifications/changed.ts';
import type { ConversationAudience } from '../../protocol/resources/conversation.ts';

export interface ChangesSource {
  readonly database: Database;
  readonly files: Downloads;
}

/** The streams that are asked about. */
export interface ChangesOf {
  readonly conversationIds: readonly string[];
  readonly actorIds: readonly string[];
}

export interface Changes {
  /** By conversation or actor; streams that nothing changed in are left out. */
  readonly frames: ReadonlyMap<string, readonly CommittedFrame[]>;
  /** Of these there were more than the limit: nothing of them was read. */
  readonly tooMany: ReadonlySet<string>;
}

/**
 * What readers of these streams may have missed since the transaction `since` (an xid8 as decimal text)
 * beside new messages, which come by their numbers: messages that changed, what is outside the timeline,
 * the conversations and participants themselves; of actors, their conversations, notifications and runs. One
 * query where nothing did.
 */
export async function readChanges(
  source: ChangesSource,
  { conversationIds, actorIds }: ChangesOf,
  since: string,
  limit = NO_LIMIT,
): Promise<Changes> {
  const rows = await source.database.query<Changed>(READ_CHANGED, [
    conversationIds,
    actorIds,
    since,
    Math.min(limit + 1, NO_LIMIT),
  ]);
  const tooMany = new Set(rows.filter(({ count }) => count > limit).map(({ stream }) => stream));
  const ids = (part: Part) =>
    rows.filter((row) => row.part === part && !tooMany.has(row.stream)).map(({ stream }) => stream);
  const frames = new Map<string, CommittedFrame[]>();
  for (const event of await readEvents(source, ids, since)) {
    const ofStream = frames.get(event.stream);
    if (ofStream === undefined) frames.set(event.stream, [toFrame(event)]);
    else ofStream.push(toFrame(event));
  }
  return { frames, tooMany };
}

type Part =
  | 'messages'
  | 'conversation'
  | 'participants'
  | 'memberships'
  | 'notifications'
  | 'runs'
  | 'schedules';

interface Changed {
  readonly stream: string;
  readonly part: Part;
  readonly count: number;
}

const NO_LIMIT = 2 ** 31 - 1;

async function readEvents(
  { database, files }: ChangesSource,
  ids: (part: Part) => string[],
  since: string,
): Promise<DomainEvent[]> {
  const events: DomainEvent[] = [];
  const ofMessages = ids('messages');
  if (ofMessages.length > 0) {
    events.push(...(await changedMessages({ database, files }, ofMessages, since)));
    events.push(...(await changedOutside(database, files, ofMessages, since)));
  }
  const ofConversations = [...new Set([...ids('conversation'), ...ids('participants')])];
  if (ofConversations.length > 0) {
    events.push(...(await changedConversations(database, ofConversations, since)));
  }
  const ofMembers = ids('memberships');
  if (ofMembers.length > 0) events.push(...(await changedMemberships(database, ofMembers, since)));
  const ofRecipients = ids('notifications');
  if (ofRecipients.length > 0) events.push(...(await changedNotifications(database, ofRecipients, since)));
  const ofAuthors = ids('schedules');
  if (ofAuthors.length > 0) events.push(...(await changedSchedules(database, files, ofAuthors, since)));
  const ofTriggerers = ids('runs');
  if (ofTriggerers.length > 0) events.push(...(await changedRuns(database, ofTriggerers, since)));
  return events;
}

async function changedMessages(
  { database, files }: ChangesSource,
  conversationIds: readonly string[],
  since: string,
): Promise<DomainEvent[]> {
  const rows = await database.query<MessageRow & { audience: ConversationAudience }>(READ_CHANGED_MESSAGES, [
    conversationIds,
    since,
  ]);
  const messages = await withParts(database, files, rows);
  return messages.map((message, index) => messageEvent('message.updated', message, rows[index]!.audience));
}

// Each part has an index of its own that leads to what changed, however much there is besides. $4: most
// rows looked at of a stream.
const READ_CHANGED = {
  name: 'read-changed',
  text: `
    SELECT stream, part, count(*) FROM (
      SELECT s.id AS stream, 'messages' AS part FROM unnest($1::text[]) AS s(id), LATERAL (
        SELECT FROM messages m WHERE m.conversation_id = s.id AND m.changed_in >= $3::xid8
          AND (m.updated_at > m.created_at OR m.sequence IS NULL) LIMIT $4) AS changed
      UNION ALL
      SELECT s.id, 'conversation' FROM unnest($1::text[]) AS s(id), LATERAL (
        SELECT FROM conversations c WHERE c.id = s.id AND c.changed_in >= $3::xid8 LIMIT 1) AS changed
      UNION ALL
      SELECT s.id, 'participants' FROM unnest($1::text[]) AS s(id), LATERAL (
        SELECT FROM participants p WHERE p.conversation_id = s.id AND p.changed_in >= $3::xid8
          LIMIT $4) AS changed
      UNION ALL
      SELECT s.id, 'memberships' FROM unnest($2::text[]) AS s(id), LATERAL (
        SELECT FROM participants p WHERE p.actor_id = s.id AND p.changed_in >= $3::xid8
          LIMIT $4) AS changed
      UNION ALL
      SELECT s.id, 'notifications' FROM unnest($2::text[]) AS s(id), LATERAL (
        SELECT FROM notifications n WHERE n.recipient_id = s.id AND n.changed_in >= $3::xid8
          LIMIT $4) AS changed
      UNION ALL
      SELECT s.id, 'runs' FROM unnest($2::text[]) AS s(id), LATERAL (
        SELECT FROM agent_runs r WHERE r.triggered_by = s.id AND r.changed_in >= $3::xid8
          LIMIT $4) AS changed
      UNION ALL
      SELECT s.id, 'schedules' FROM unnest($2::text[]) AS s(id), LATERAL (
        SELECT FROM messages m WHERE m.author_id = s.id AND m.kind = 'scheduled' AND m.changed_in >= $3::xid8
          LIMIT $4) AS changed
    ) AS changed GROUP BY stream, part`,
};

// Messages that were only created come by their numbers.
const READ_CHANGED_MESSAGES = {
  name: 'read-changed-messages',
  text: `
    SELECT ${messageColumns('m')}, c.audience
    FROM messages m JOIN conversations c ON c.id = m.conversation_id
    WHERE m.conversation_id = ANY($1) AND m.changed_in >= $2::xid8
      AND m.updated_at > m.created_at AND m.status = 'sent'
    ORDER BY m.conversation_id, m.sequence`,
};
