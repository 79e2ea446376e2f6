import { readFile } from 'node:fs/promises';
import { derivedId, newId } from '@parley/protocol/ids.ts';
import { sql } from 'kysely';
import { createCustomer } from '../../core/accounts/actors/actors.ts';
import { CUSTOMER_SERVICE } from '../../core/accounts/groups/groups.ts';
import type { ObjectStore } from '../../core/attachments/storage.ts';
import { insertUpload } from '../../core/attachments/uploads.ts';
import { moveWorkflow } from '../../core/conversations/cases/workflow.ts';
import { announceCreated } from '../../core/conversations/lifecycle/start-conversation.ts';
import { createConversation } from '../../core/conversations/rows/conversation-store.ts';
import type { NewParticipant } from '../../core/conversations/rows/participant-store.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { writePin } from '../../core/messages/pins/pin.ts';
import { insertReaction, lockReactions } from '../../core/messages/reactions/reactions.ts';
import type { NewAttachment } from '../../core/messages/rows/new-message.ts';
import { insertMessages, type NumberedMessage } from '../../core/messages/timeline/insert-store.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { type DemoRows, extendDemo, lockDemo } from '../demo.ts';
import {
  CUSTOMERS,
  DAY,
  type DayConversation,
  type DayMessage,
  LAUNCH,
  type Person,
  type Picture,
} from './day-content.ts';

/**
 * Adds a day of conversations to the demo account, once in a database, however many nodes start on
 * it, in one transaction. The usual statements write every row, and the outbox rows have the usual
 * effects: notifications, rows of the inbox, entries of the search. Only the times are set back,
 * before the commit, so that no reader ever sees other times.
 */
export async function seedDay({ database, store }: Pick<NodeParts, 'database' | 'store'>): Promise<void> {
  await database.transaction(async (tx) => {
    const demo = await lockDemo(tx);
    if (demo === undefined || demo.day !== undefined) return;
    const writer = new DayWriter(tx, demo, store);
    const ids = await writer.write();
    await extendDemo(tx, { ...demo, day: { launch: ids.get(LAUNCH)! } });
  });
}

/** A message with the row that it becomes. */
interface Written extends NumberedMessage {
  readonly said: DayMessage;
}

class DayWriter {
  readonly #tx: Tx;
  readonly #demo: DemoRows;
  readonly #store: ObjectStore;
  readonly #actors = new Map<Person, string>();
  #persona = '';

  constructor(tx: Tx, demo: DemoRows, store: ObjectStore) {
    this.#tx = tx;
    this.#demo = demo;
    this.#store = store;
  }

  /** Returns the ids of the conversations, by their titles. */
  async write(): Promise<ReadonlyMap<string, string>> {
    const { accountId, users, agent } = this.#demo;
    this.#actors.set('ada', users.ada.id).set('grace', users.grace.id).set('assistant', agent.actorId);
    for (const [person, { name, email }] of Object.entries(CUSTOMERS)) {
      const { id } = await createCustomer(this.#tx, { accountId, name, email });
      this.#actors.set(person as Person, id);
    }
    await this.#staff([users.ada.id, users.grace.id]);

    const ids = new Map<string, string>();
    const written: Written[] = [];
    for (const conversation of DAY) {
      const id = await this.#create(conversation);
      ids.set(conversation.title, id);
      written.push(...(await this.#compose(id, conversation)));
    }
    await insertMessages(this.#tx, written);
    for (const message of written) await this.#follow(message);
    const messageIds = written.map(({ message }) => message.id);
    const agos = written.map(({ said }) => said.ago);
    const mails = written.map(({ said }) => (said.mail === 'sent' ? 'sent' : null));
    await this.#tx.query(DATE_MESSAGES, messageIds, agos, mails);
    await this.#tx.query(DATE_WAITING, [...ids.values()]);
    for (const dated of DATE_PARTS) await this.#tx.query(dated, messageIds);
    return ids;
  }

  /** Makes people the team that answers customers. */
  async #staff(people: readonly string[]): Promise<void> {
    const { id: group_id, actor_id: persona } = await this.#tx.kysely
      .selectFrom('messaging_groups')
      .select(['id', 'actor_id'])
      .where('account_id', '=', this.#demo.accountId)
      .where('name', '=', CUSTOMER_SERVICE)
      .executeTakeFirstOrThrow();
    this.#persona = persona;
    await this.#tx.kysely
      .insertInto('group_members')
      .values(people.map((actor_id, position) => ({ group_id, actor_id, position })))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  async #create(said: DayConversation): Promise<string> {
    const tx = this.#tx;
    const { accountId, users, inbox } = this.#demo;
    const hasMailbox = this.#tx.hooks.first('demoMail') !== undefined;
    const participants: NewParticipant[] = [
      { type: 'user', actorId: users.ada.id, role: 'owner' },
      { type: 'user', actorId: users.grace.id },
      ...(said.hasAgent ? [{ type: 'agent', actorId: this.#of('assistant') } as const] : []),
      ...(said.customer ? [{ type: 'customer', actorId: this.#of(said.customer.person) } as const] : []),
    ];
    const created = await createConversation(tx, {
      accountId,
      type: 'group',
      audience: said.customer === undefined ? 'internal' : 'customer',
      title: said.title,
      mailboxId: said.customer?.byMail && hasMailbox ? inbox.id : null,
      assigneeId: said.assignee === undefined ? null : this.#of(said.assignee),
      participants,
    });
    const { id } = created.conversation;
    const began = ago(said.messages[0]!.ago + 1);
    const conversation = await tx.kysely
      .updateTable('conversations')
      .set({ created_at: began, assigned_at: said.assignee === undefined ? null : began })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    for (const { id: participantId, actor_id: actorId, type } of created.participants) {
      const [person] = [...this.#actors].find(([, actor]) => actor === actorId)!;
      const unread = person === 'ada' || person === 'grace' ? (said.unread[person] ?? 0) : 0;
      const read = type === 'user' ? said.messages.length - unread : 0;
      await tx.kysely
        .updateTable('participants')
        .set({ created_at: began, read_sequence: read })
        .where('id', '=', participantId)
        .execute();
    }
    await announceCreated(tx, { ...created, conversation }, null);
    return id;
  }

  /** Builds a conversation's messages with their numbers, files and the run that wrote one. */
  async #compose(conversationId: string, { customer, messages }: DayConversation): Promise<Written[]> {
    const named = new Map<string, string>();
    const written: Written[] = [];
    for (const [index, said] of messages.entries()) {
      const id = newId('message');
      if (said.name !== undefined) named.set(said.name, id);
      const author = this.#of(said.by);
      const isCustomer = said.by === customer?.person;
      const asked = said.answerTo === undefined ? undefined : named.get(said.answerTo)!;
      const isMailIn = typeof said.mail === 'object';
      written.push({
        said,
        sequence: index + 1,
        message: {
          id,
          account_id: this.#demo.accountId,
          conversation_id: conversationId,
          kind: isMailIn ? 'email' : said.by === 'assistant' ? 'agent' : 'chat',
          visibility: said.external ? 'external' : 'internal',
          channel: said.mail === undefined ? 'message' : 'email',
          body: said.text,
          subject: isMailIn ? SUBJECT : null,
          cc: null,
          mentions: mentionsIn(said.text).map((person) => this.#of(person)),
          sender_id: said.external && !isCustomer ? this.#persona : author,
          author_id: author,
          reply_to_id: said.replyTo === undefined ? null : named.get(said.replyTo)!,
          resource_type: null,
          resource_id: null,
          agent_run_id: asked === undefined ? null : await this.#run(conversationId, asked, id, said),
          streaming_state: asked === undefined ? null : 'complete',
          client_message_id: isMailIn ? mailIdOf(id) : null,
          attachments: said.picture === undefined ? [] : [await this.#attach(author, said.picture)],
        },
      });
    }
    return written;
  }

  /** Derives the key of a picture, so that a second try writes the same file. */
  async #attach(actorId: string, picture: Picture): Promise<NewAttachment> {
    const { accountId } = this.#demo;
    const bytes = await readFile(new URL(`pictures/${picture}.png`, import.meta.url));
    const file = {
      s3_key: derivedId('upload', `demo ${accountId} ${picture}`),
      filename: `${picture}.png`,
      content_type: 'image/png',
      size_bytes: bytes.length,
    };
    const { accountBytes } = this.#store;
    await insertUpload(this.#tx, { ...file, account_id: accountId, actor_id: actorId }, accountBytes);
    await this.#store.put({ key: file.s3_key, contentType: file.content_type }, bytes);
    const [url, resource_type, resource_id] = [null, null, null];
    return { id: newId('attachment'), position: 0, kind: 'image', ...file, url, resource_type, resource_id };
  }

  /**
   * Writes the run behind an answer. Its key is the answered message, by which that message's
   * effects find that the agent has been started.
   */
  async #run(conversationId: string, askedId: string, answerId: string, said: DayMessage): Promise<string> {
    const tx = this.#tx;
    const { accountId, agent, users } = this.#demo;
    const [began, ended] = [ago(said.ago + 0.1), ago(said.ago)];
    const times = { created_at: began, started_at: began, completed_at: ended, updated_at: ended };
    const { id } = await tx.kysely
      .insertInto('agent_runs')
      .values({
        id: newId('agentRun'),
        account_id: accountId,
        agent_id: agent.id,
        actor_id: agent.actorId,
        trigger_type: 'chat',
        trigger_key: askedId,
        status: 'completed',
        input: JSON.stringify({ conversation_id: conversationId, message_id: askedId }),
        output: JSON.stringify({ text: said.text, message_id: answerId }),
        triggered_by: users.ada.id,
        conversation_id: conversationId,
        trigger_message_id: askedId,
        reply_message_id: answerId,
        fence: 1,
        ...times,
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    await tx.kysely
      .insertInto('agent_run_steps')
      .values({
        id: newId('agentStep'),
        run_id: id,
        position: 1,
        status: 'completed',
        text: said.text,
        provider: 'demo',
        model: 'demo',
        cost_usd: 0,
        ...times,
      })
      .execute();
    await tx.hooks.first('demoRunEnded')?.(tx, id);
    return id;
  }

  /** Writes a message's mail, case lane, reactions and pin. */
  async #follow({ message, said }: Written): Promise<void> {
    const tx = this.#tx;
    const { id, conversation_id: conversationId } = message;
    if (said.mail !== undefined) {
      await tx.hooks.first('demoMail')?.(tx, {
        id: mailIdOf(id),
        message,
        inbox: this.#demo.inbox,
        customer: CUSTOMERS.ines,
        subject: SUBJECT,
        text: said.text,
        html: typeof said.mail === 'object' ? said.mail.html : null,
        minutesAgo: said.ago,
      });
    }
    if (said.external) {
      const isReply = message.sender_id === this.#persona;
      const { account_id, author_id } = message;
      const conversation = { id: conversationId, account_id, audience: 'customer' } as const;
      if (isReply) await moveWorkflow(tx, conversation, 'reply_sent', author_id);
      else await moveWorkflow(tx, conversation, 'customer_wrote', null);
    }
    if (said.reactions !== undefined) await lockReactions(tx, message);
    for (const [emoji, people] of Object.entries(said.reactions ?? {})) {
      for (const person of people) {
        const key = { messageId: id, emoji, actorId: this.#of(person) };
        await insertReaction(tx, key, { conversationId, customer: person in CUSTOMERS });
      }
    }
    if (said.pinnedBy !== undefined) await writePin(tx, message, this.#of(said.pinnedBy));
  }

  #of(person: Person): string {
    return this.#actors.get(person)!;
  }
}

const SUBJECT = 'VAT number on invoice 2214';

/** Returns a time before the transaction, which is when the day is written. */
function ago(minutes: number) {
  return sql<string>`now() - make_interval(secs => ${minutes * 60})`;
}

function mailIdOf(messageId: string): string {
  return derivedId('mail', messageId);
}

function mentionsIn(text: string): Person[] {
  return [...text.matchAll(/@(ada|grace|assistant)\b/g)].map(([, person]) => person as Person);
}

/** Sets the times of messages back, by minutes, and the status of messages that left as mail. */
const DATE_MESSAGES = statement<
  [ids: readonly string[], ago: readonly number[], mails: readonly (string | null)[]]
>('date-demo-messages')`
    UPDATE messages m SET created_at = d.at, updated_at = d.at, email_status = d.mail
    FROM (
      SELECT id, now() - make_interval(mins => ago) AS at, mail
      FROM unnest($1::text[], $2::integer[], $3::text[]) AS said(id, ago, mail)
    ) d WHERE m.id = d.id`;

/** Sets the times since when customers wait back to those of their messages. */
const DATE_WAITING = statement<[conversationIds: readonly string[]]>('date-demo-waiting')`
    UPDATE conversations SET waiting_since = waiting_of(id) WHERE id = ANY($1) AND waiting_since IS NOT NULL`;

// Reactions and pins are a minute after the message.
const DATE_PARTS = [
  dateParts('attachments', 'created_at', 'm.created_at'),
  dateParts('reactions', 'created_at', "m.created_at + interval '1 minute'"),
  dateParts('pins', 'pinned_at', "m.created_at + interval '1 minute'"),
];

function dateParts(table: string, column: string, at: string) {
  return statement<[ids: readonly string[]]>(`date-demo-${table}`)`
    UPDATE ${table} p SET ${column} = ${at} FROM messages m WHERE m.id = ANY($1) AND p.message_id = m.id`;
}
