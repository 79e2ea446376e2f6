import { invalid } from '../../../contract/protocol/errors.ts';
import { ListOf } from '../../../contract/protocol/lists.ts';
import { ChatMessage, IncludeInMessage } from '../../../contract/protocol/resources/chat-message.ts';
import { MarkThreadReadBody, Thread } from '../../../contract/protocol/resources/thread.ts';
import type { Principal } from '../../../platform/access/principal.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { type KeysetPage, keysetList } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { defineList, PageQuery, readPage, toList } from '../../../platform/http/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../platform/http/pipeline/route.ts';
import { readHeadOfReader } from '../../conversations/conversation-store.ts';
import type { ConversationDirectory } from '../../conversations/directory.ts';
import { lockOwnParticipant } from '../../conversations/locked-conversation.ts';
import type { Downloads } from '../../resources/attachment.ts';
import { expandMessages } from '../../resources/expanded-message.ts';
import { withLargeBodies } from '../../resources/large-bodies.ts';
import { type BriefRow, briefColumns, type MessageRow } from '../../resources/message.ts';
import { isReplyTo, readThreads } from '../../resources/thread.ts';
import { readableMessage } from '../reading/readable-message.ts';
import type { Timeline } from '../timeline/timeline.ts';
import { SETTLE_WINDOW } from '../timeline/timeline-store.ts';

export interface ThreadRoutesOptions {
  readonly database: Database;
  readonly files: Downloads;
  readonly directory: ConversationDirectory;
  readonly timeline: Timeline;
}

export function threadRoutes({ database, files, directory, timeline }: ThreadRoutesOptions): Route[] {
  const sources = { database, directory };
  return [
    defineRoute({
      name: 'list_replies',
      method: 'GET',
      path: '/v1/messaging/messages/:id/replies',
      summary: 'List the replies to a message, newest first',
      since: '1.2.harbor',
      permission: 'messaging:read',
      customers: true,
      query: PageQuery({ 'include[]': IncludeInMessage }),
      status: 200,
      response: ListOf(ChatMessage),
      async handle({ principal, params, query, url }) {
        const page = readPage(REPLIES, query, { message: params.id });
        const { row } = await readableMessage(sources, principal, params.id!);
        if (page.after === null) await settle(timeline, row.conversation_id);
        const rows = await readReplyPage(database, row.id, principal.customer, page);
        const shown = await expandMessages(database, files, principal, rows, query['include[]'] ?? []);
        return toList(
          rows,
          page,
          url,
          ({ sequence }) => [sequence!],
          (reply) => shown.get(reply)!,
        );
      },
    }),
    defineRoute({
      name: 'mark_thread_read',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/mark-thread-read',
      summary: 'Mark the replies to a message as read',
      since: '1.2.harbor',
      permission: 'messaging:read',
      customers: true,
      body: MarkThreadReadBody,
      status: 200,
      response: Thread,
      prepare: ({ principal, params }) => readableMessage(sources, principal, params.id!),
      change: (tx, { principal, body }, { row }) => markThreadRead(tx, principal, row, body.sequence),
    }),
  ];
}

/**
 * Waits for what is being sent, so that no reply appears later between two that were listed
 * together.
 */
async function settle(timeline: Timeline, conversationId: string): Promise<void> {
  const upTo = await timeline.head(conversationId);
  await timeline.settle({ conversationId, after: Math.max(0, upTo - SETTLE_WINDOW), upTo });
}

const REPLIES = defineList('replies', ['integer']);

/**
 * Moves the caller's position in the replies to a message forward, never back, beside its position
 * in the conversation. Throws ApiError `resource_conflict` for callers that are not participants,
 * or `validation_failed` (param sequence).
 */
export async function markThreadRead(
  tx: Tx,
  principal: Principal,
  row: MessageRow,
  sequence: number,
): Promise<Thread> {
  await lockOwnParticipant(tx, principal, row.conversation_id);
  if (sequence > (await readHeadOfReader(tx, row.conversation_id, principal.customer))) {
    throw invalid('sequence', 'There is no such message yet.');
  }
  await writeThreadPosition(tx, row, principal.actor.id, sequence);
  const threads = await readThreads(tx, principal, [row]);
  return threads.get(row.id)!;
}

/** Returns the replies to a message, newest first, as many as a page has room for and one more. */
export async function readReplyPage(
  db: Db,
  messageId: string,
  forCustomer: boolean,
  page: KeysetPage,
): Promise<readonly MessageRow[]> {
  return withLargeBodies(db, await REPLY_PAGES.readPage(db, [messageId, forCustomer], page));
}

/** Moves the position of an actor in a thread forward, never back. */
export async function writeThreadPosition(
  tx: Tx,
  { id, conversation_id }: Pick<MessageRow, 'id' | 'conversation_id'>,
  actorId: string,
  sequence: number,
): Promise<void> {
  await tx.query(WRITE_POSITION, id, actorId, conversation_id, sequence);
}

const REPLY_PAGES = keysetList<[messageId: string, forCustomer: boolean], BriefRow>({
  name: 'list-replies',
  columns: briefColumns('r'),
  from: 'messages r',
  where: isReplyTo('$1', '$2'),
  key: [['r.sequence', 'integer']],
});

const WRITE_POSITION = statement<
  [messageId: string, actorId: string, conversationId: string, sequence: number]
>({
  name: 'write-thread-position',
  text: `
    INSERT INTO thread_reads (message_id, actor_id, conversation_id, read_sequence) VALUES ($1, $2, $3, $4)
    ON CONFLICT (message_id, actor_id) DO UPDATE
      SET read_sequence = greatest(thread_reads.read_sequence, excluded.read_sequence)`,
});
