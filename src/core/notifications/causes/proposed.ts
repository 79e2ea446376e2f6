import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import type { Change } from '../../events/changes.ts';
import type { MessageRow } from '../../resources/message.ts';
import { preview } from '../../resources/notification.ts';
import { enqueueUpdated } from '../feed/mark.ts';
import type { NotificationKey } from '../feed/notify-users.ts';
import { PREVIEW } from '../feed/store.ts';
import { senderType } from './notify.ts';
import { notifyAble, withdrawWork } from './waiting-work.ts';

const CATEGORY = 'draft.proposed';

/**
 * Notifies the users that can approve a draft once it is written (`draft.proposed`), follows its
 * edits, and withdraws the notifications when it is decided. Handles the draft events of
 * RESOURCES_CHANGED, in any order and more than once: the state of the draft decides.
 */
export async function draftsChanged(database: Database, changes: readonly Change[]): Promise<void> {
  for (const { event, id } of changes) {
    if (event !== 'draft.created' && event !== 'draft.updated') continue;
    await database.transaction((tx) => followDraft(tx, id));
  }
}

async function followDraft(tx: Tx, id: string): Promise<void> {
  // The lock makes the handler of a decision either run after this one or be seen here.
  const [draft] = await tx.query(LOCK_DRAFT, id);
  if (draft === undefined) return;
  if (!draft.is_open) {
    await withdrawWork(tx, id, CATEGORY);
    return;
  }
  if (draft.is_being_written) return;
  const body = preview(draft);
  const author = draft.author_name ?? (draft.author_type === 'agent' ? 'An agent' : 'Someone');
  await notifyAble(tx, {
    notification: {
      account_id: draft.account_id,
      category: CATEGORY,
      body,
      title: `${author} proposed a reply${draft.title === null ? '' : ` in ${draft.title}`}`,
      sender_id: draft.author_id,
      sender_type: senderType(draft.author_type && { type: draft.author_type }),
      resource: { type: 'entity', id: draft.conversation_id },
      message_id: id,
      agent_run_id: draft.agent_run_id,
      cause: { key: `proposed ${id}`, at: draft.created_at },
    },
    titleOutside: 'A reply to a customer waits for approval',
    conversationId: draft.conversation_id,
    permissions: ['messaging:read', 'messaging:update'],
    by: draft.author_id,
    beganFor: null,
  });
  await enqueueUpdated(tx, await tx.query(WRITE_PREVIEWS_OF_SUBJECT, id, CATEGORY, body));
}

interface DraftRow
  extends Pick<
    MessageRow,
    'account_id' | 'conversation_id' | 'kind' | 'body' | 'author_id' | 'agent_run_id' | 'created_at'
  > {
  readonly title: string | null;
  readonly author_type: Actor['type'] | null;
  readonly author_name: string | null;
  readonly is_open: boolean;
  readonly is_being_written: boolean;
}

const LOCK_DRAFT = statement<[id: string], DraftRow>('lock-draft-to-notify')`
    SELECT m.account_id, m.conversation_id, c.title, m.kind, m.body, m.author_id, a.type AS author_type, a.name AS author_name,
      m.agent_run_id, m.created_at, m.streaming_state IS NOT DISTINCT FROM 'streaming' AS is_being_written,
      m.status = 'draft' AND m.deleted_at IS NULL AND c.deleted_at IS NULL AS is_open
    FROM messages m JOIN conversations c ON c.id = m.conversation_id LEFT JOIN actors a ON a.id = m.author_id
    WHERE m.id = $1 FOR SHARE OF m`;

/**
 * Sets the body of a category's notifications for this subject (notify-users.ts). Returns the
 * changed notifications. Admins outside the conversation have no preview and get none.
 */
const WRITE_PREVIEWS_OF_SUBJECT = statement<
  [subject: string, category: string, body: string | null],
  NotificationKey
>('write-previews-of-subject')`
    UPDATE notifications n
    SET body = ${PREVIEW}, ${setTouched('later_than(n.updated_at)')}
    FROM participants p
    WHERE n.subject = $1 AND n.category = $2 AND n.status <> 'dismissed' AND n.body IS NOT NULL
      AND p.conversation_id = n.resource_id AND p.actor_id = n.recipient_id AND n.body IS DISTINCT FROM ${PREVIEW}
    RETURNING n.id, n.recipient_id`;
