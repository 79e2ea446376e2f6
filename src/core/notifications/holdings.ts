import { ERASED_NAME } from '@parley/protocol/resources/erasure.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { setTouched } from '../../platform/db/tables/touched.ts';
import { userIds } from '../accounts/actors/persons.ts';
import { enqueueRightsChanged } from '../accounts/rights/rights-changed.ts';
import { countOf, type ErasedPerson, type Holdings } from '../resources/holdings.ts';
import { readWholeFeed } from './feed/feed-store.ts';
import { enqueueUpdated } from './feed/mark.ts';
import { ID_TIME } from './feed/store.ts';
import { announceSettings, readOwnSettings } from './settings/settings.ts';

/** Feeds, whose previews quote messages and whose titles name people; and settings. */
export const notificationHoldings: Holdings = {
  tables: {
    notifications: {
      account: 'content',
      recipient_id: 'erased',
      sender_id: 'erased',
      message_id: 'purged',
      resource_id: 'purged',
      exported: 'notifications',
      moved: { by: 'recipient_id', of: 'actors' },
    },
    notification_settings: {
      account: 'content',
      actor_id: 'removed',
      exported: 'notification_settings',
      moved: { last: 'true' },
    },
  },
  purgeMessages: async (tx, id, messages) =>
    removed(await tx.query(DELETE_OF_MESSAGES, JSON.stringify(messages), id)),
  purgeConversation: async (tx, id) => removed(await tx.query(DELETE_ABOUT, id)),
  expire: { notifications: async (tx, ...policy) => removed(await tx.query(DELETE_OLD, ...policy)) },
  count: { notifications: (...asked) => countOld(...asked) },
  async readAges(db, accountId) {
    const [row] = await db.query(READ_AGE, accountId);
    return { notifications: row!.age };
  },
  movePerson: async (tx, { from, to, conversationIds }) =>
    enqueueUpdated(tx, await tx.query(MOVE_SENDER, from, to, conversationIds)),
  blankPerson: announceSettings,
  erasePerson: eraseFromFeeds,
  exportsOfPerson: {
    notifications: (db, _files, { id }) => readWholeFeed(db, id),
    notification_settings: (db, _files, { id }) => readOwnSettings(db, id),
  },
};

function removed([row]: readonly Deleted[]) {
  const { deleted } = row!;
  return { rows: deleted, notifications: deleted };
}

interface Deleted {
  readonly deleted: number;
}

async function eraseFromFeeds(
  database: Database,
  { accountId, id: senderId, title: name, signal }: ErasedPerson,
): Promise<void> {
  for (let deleted = DELETED_AT_ONCE; deleted === DELETED_AT_ONCE; ) {
    signal.throwIfAborted();
    const [row] = await database.transaction((tx) => tx.query(DELETE_FEED, senderId, DELETED_AT_ONCE));
    deleted = row!.deleted;
  }
  for await (const recipients of userIds(database, accountId)) {
    for (const recipientId of recipients) {
      for (let after: string | null = ''; after !== null; ) {
        signal.throwIfAborted();
        const from: string = after;
        after = await database.transaction(async (tx) => {
          const [page] = await tx.query(ERASE_FROM_FEED, recipientId, from, senderId, name, ERASED_NAME);
          const { last, changed } = page!;
          if (changed === null) return last;
          const keys = changed.map((id) => ({ id, recipient_id: recipientId }));
          await enqueueUpdated(tx, keys);
          await enqueueRightsChanged(tx, changed);
          return last;
        });
      }
    }
  }
}

const DELETED_AT_ONCE = 500;

const NOT_HELD = `NOT EXISTS (SELECT FROM conversations h WHERE h.id = n.resource_id AND h.legal_hold = 'held')`;

// No hold is set on these conversations until the transaction ends.
const NOT_HELD_NOW = `about AS MATERIALIZED (
      SELECT c.id, c.legal_hold FROM conversations c
      WHERE c.id IN (SELECT resource_id FROM due) ORDER BY c.id FOR SHARE
    )`;
const NOT_ABOUT_HELD = `NOT EXISTS (SELECT FROM about WHERE about.id = d.resource_id AND about.legal_hold = 'held')`;

// A page of a feed: replaces the person's name ($4, a regular expression) in titles, and clears the
// previews of the person's messages.
const ERASE_FROM_FEED = statement<
  [recipientId: string, after: string, senderId: string, name: string | null, replacement: string],
  { last: string | null; changed: string[] | null }
>('erase-person-from-feed')`
    WITH page AS MATERIALIZED (
      SELECT id, resource_id, sender_id, title, body FROM notifications
      WHERE recipient_id = $1 AND id > $2 ORDER BY id LIMIT 500
    ), due AS MATERIALIZED (
      SELECT id, resource_id FROM page WHERE sender_id = $3 AND body IS NOT NULL OR title ~ $4
    ), ${NOT_HELD_NOW}, erased AS (
      UPDATE notifications n SET title = coalesce(regexp_replace(n.title, $4, $5), n.title),
        body = CASE WHEN n.sender_id = $3 THEN NULL ELSE n.body END, ${setTouched('later_than(n.updated_at)')}
      FROM due d WHERE n.recipient_id = $1 AND n.id = d.id AND ${NOT_ABOUT_HELD}
      RETURNING n.id
    )
    SELECT (SELECT max(id) FROM page) AS last, (SELECT array_agg(id::text) FROM erased) AS changed`;

const DELETE_FEED = statement<[recipientId: string, limit: number], Deleted>('delete-feed')`
    WITH due AS MATERIALIZED (
      SELECT n.id, n.resource_id FROM notifications n WHERE n.recipient_id = $1 AND ${NOT_HELD}
      LIMIT $2
    ), ${NOT_HELD_NOW}, deleted AS (
      DELETE FROM notifications n USING due d
      WHERE n.recipient_id = $1 AND n.id = d.id AND ${NOT_ABOUT_HELD}
      RETURNING 1
    )
    SELECT count(*) AS deleted FROM deleted`;

// Every recipient is, or was, a participant.
const DELETE_OF_MESSAGES = statement<[messages: string, conversationId: string], Deleted>(
  'delete-notifications-of-messages',
)`
    WITH deleted AS (
      DELETE FROM notifications n
      USING json_to_recordset($1::json) AS m(id text, at timestamptz), participants p
      WHERE p.conversation_id = $2 AND n.recipient_id = p.actor_id AND n.id = notification_id(m.at, m.id, p.actor_id)
      RETURNING 1
    )
    SELECT count(*) AS deleted FROM deleted`;

const DELETE_ABOUT = statement<[conversationId: string], Deleted>('delete-notifications-about-conversation')`
    WITH deleted AS (
      DELETE FROM notifications n USING participants p
      WHERE p.conversation_id = $1 AND n.recipient_id = p.actor_id AND n.resource_id = $1
      RETURNING 1
    )
    SELECT count(*) AS deleted FROM deleted`;

// Titles stay as they were written.
const MOVE_SENDER = statement<
  [from: string, to: string, conversationIds: readonly string[]],
  { id: string; recipient_id: string }
>('move-sender-of-notifications')`
    UPDATE notifications n SET sender_id = $2, ${setTouched('later_than(n.updated_at)')}
    FROM participants p
    WHERE p.conversation_id = ANY($3) AND n.recipient_id = p.actor_id
      AND n.resource_id = p.conversation_id AND n.sender_id = $1
    RETURNING n.id, n.recipient_id`;

/** SQL: up to $3 rows of the account that are older than $2 days. */
const OLD = `SELECT n.recipient_id, n.id, n.resource_id FROM actors a, LATERAL (
        SELECT n.recipient_id, n.id, n.resource_id FROM notifications n
        WHERE n.recipient_id = a.id AND ${NOT_HELD}
          AND n.id < left(notification_id(clock_timestamp() - make_interval(days => $2::int), '', ''), ${ID_TIME})
        ORDER BY n.id LIMIT $3
      ) n
      WHERE a.account_id = $1 AND a.type = 'user' AND NOT a.customer LIMIT $3`;

const countOld = countOf('count-old-notifications', OLD);

const DELETE_OLD = statement<[accountId: string, days: number, limit: number], Deleted>(
  'delete-old-notifications',
)`
    WITH due AS MATERIALIZED (
      ${OLD}
    ), ${NOT_HELD_NOW}, deleted AS (
      DELETE FROM notifications n USING due d
      WHERE n.recipient_id = d.recipient_id AND n.id = d.id
        AND ${NOT_ABOUT_HELD}
      RETURNING 1
    )
    SELECT count(*) AS deleted FROM deleted`;

const READ_AGE = statement<[accountId: string], { age: number | null }>('read-age-of-notifications')`
    SELECT extract(epoch FROM clock_timestamp() - min(n.created_at))::float8 AS age FROM actors a, LATERAL (
      SELECT n.created_at FROM notifications n WHERE n.recipient_id = a.id AND ${NOT_HELD} ORDER BY n.id LIMIT 1
    ) n
    WHERE a.account_id = $1 AND a.type = 'user' AND NOT a.customer`;
