/**
 * A bridged case as the rest of the server sees it: its inbox, its persona, the mails of its
 * messages.
 */

import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { Rights } from '../../src/api/access/rights.ts';
import { isBridged } from '../../src/core/conversations/directory/bridge.ts';
import { ConversationDirectory } from '../../src/core/conversations/directory/directory.ts';
import type { Frame } from '../../src/core/frames/frame.ts';
import { readMailboxOf } from '../../src/core/resources/mailbox.ts';
import { type MessageRow, presentMessage } from '../../src/core/resources/message.ts';
import { readMailboxesByAddress } from '../../src/features/mail/mailboxes/mailbox-store.ts';
import {
  presentEmail,
  readMailOfMessage,
  readMailsOfConversation,
} from '../../src/features/mail/mails/mail-store.ts';
import { lockThread, updateThread } from '../../src/features/mail/mails/thread-store.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { NO_FILES } from '../support/files.ts';
import { addConversation, createGround } from '../support/timeline.ts';
import { addBridgedCase, addGroup, addInbox, addMail, readThread } from './fixture.ts';

const ground = await createGround(t);
const { database } = ground;
const owner = { ...ground, actorId: ground.authorId };
const engine = new MemoryEngine<Frame>();
const rights = await Rights.open(engine);
t.teardown(async () => {
  await rights.close();
  await engine.close();
});

t.test('a case is bridged while its inbox exists, and answers in the name of the group of it', async (t) => {
  const group = await addGroup(owner, 'Billing');
  await addGroup(owner, 'Customer Service');
  const [plain, named] = [await addInbox(owner), await addInbox(owner, { group_id: group.id })];
  const cases = [await addBridgedCase(owner, plain.id), await addBridgedCase(owner, named.id)];
  const ids = [...cases.map(({ id }) => id), await addConversation(ground)];
  const read = async () => {
    const directory = new ConversationDirectory(database, rights);
    const facts = await Promise.all(ids.map((id) => directory.facts(id)));
    return facts.map((it) => [it!.mailboxId, it!.persona?.name, isBridged(it!)]);
  };
  t.strictSame(await read(), [
    [plain.id, 'Customer Service', true],
    [named.id, 'Billing', true],
    [null, undefined, false],
  ]);
  const removed = { deleted_at: new Date().toISOString() };
  await database.kysely.updateTable('inboxes').set(removed).where('id', '=', named.id).execute();
  t.strictSame((await read())[1], [null, 'Customer Service', false]);
});

t.test('facts are read again once their inbox changes', async (t) => {
  const inbox = await addInbox(owner);
  const { id } = await addBridgedCase(owner, inbox.id);
  const directory = new ConversationDirectory(database, rights);
  t.equal((await directory.facts(id))!.mailboxId, inbox.id);
  const removed = { deleted_at: new Date().toISOString() };
  await database.kysely.updateTable('inboxes').set(removed).where('id', '=', inbox.id).execute();
  await rights.announce(inbox.id);
  t.equal((await directory.facts(id))!.mailboxId, null);
});

t.test('inboxes are found by their addresses in any letter case, until they are removed', async (t) => {
  const inbox = await addInbox(owner, { address: 'sales@harbor.example' });
  t.strictSame(await readMailboxesByAddress(database, ['SALES@harbor.example', 'x@harbor.example']), [inbox]);
  t.strictSame(await readMailboxesByAddress(database, ['Sales@Harbor.example']), [inbox]);
  t.strictSame(await readMailboxOf(database, owner.accountId, inbox.id), inbox);
  const removed = { deleted_at: new Date().toISOString() };
  await database.kysely.updateTable('inboxes').set(removed).where('id', '=', inbox.id).execute();
  t.strictSame(await readMailboxesByAddress(database, [inbox.address]), []);
  t.equal(await readMailboxOf(database, owner.accountId, inbox.id), undefined);
});

t.test('a mail as the team sees it', async (t) => {
  const inbox = await addInbox(owner);
  const { id: conversation_id } = await addBridgedCase(owner, inbox.id);
  const message_id = newId('message');
  const first = await addMail(owner, {
    conversation_id,
    message_id,
    inbox_id: inbox.id,
    subject: 'Ahoy',
    body_text: 'text',
    recipients: JSON.stringify([{ address: inbox.address, kind: 'to', status: null, code: null }]),
    source_key: newId('upload'),
    size_bytes: 12,
  });
  const second = await addMail(owner, {
    conversation_id,
    direction: 'out',
    purpose: 'reply',
    status: 'queued',
    body_text: 'text',
    next_try_at: new Date().toISOString(),
  });
  t.strictSame(await readMailOfMessage(database, message_id), first);
  t.strictSame(await readMailsOfConversation(database, conversation_id, null, 9), [first, second]);
  t.strictSame(await readMailsOfConversation(database, conversation_id, first, 9), [second]);

  const shown = await presentEmail({ presignDownload: async ({ key }) => `signed ${key}` }, first);
  t.match(shown, {
    object: 'email',
    rfc_message_id: first.rfc_id,
    text: 'text',
    size_bytes: 12,
    source_url: `signed ${first.source_key}`,
    recipients: [{ address: inbox.address, kind: 'to' }],
  });
  const expected = { text: null, source_url: null, next_try_at: null, recipients: [] };
  t.match(await presentEmail(NO_FILES, second), expected);
});

t.test('the thread of a case is made with it', async (t) => {
  const { id } = await addBridgedCase(owner, (await addInbox(owner)).id);
  t.equal(await readThread(database, await addConversation(ground)), undefined);
  await database.transaction(async (tx) => {
    t.match(await lockThread(tx, id), { account_id: ground.accountId, subject: null, cc: [] });
    await updateThread(tx, id, { subject: 'Ahoy', cc: ['a@b.example'] });
  });
  t.match(await readThread(database, id), { subject: 'Ahoy', cc: ['a@b.example'] });
});

t.test('the status of the mail of a message: for the team alone, and of replies alone', async (t) => {
  const { id } = await addBridgedCase(owner, (await addInbox(owner)).id);
  const row: MessageRow = {
    id: newId('message'),
    account_id: ground.accountId,
    conversation_id: id,
    sequence: 1,
    kind: 'chat',
    status: 'sent',
    visibility: 'external',
    channel: 'email',
    email_status: null,
    body: 'ahoy',
    subject: null,
    cc: null,
    mentions: null,
    sender_id: null,
    author_id: null,
    reply_to_id: null,
    resource_type: null,
    resource_id: null,
    agent_run_id: null,
    outcome: null,
    metadata: null,
    imported: null,
    incomplete: null,
    event: null,
    question: null,
    streaming_state: null,
    client_message_id: null,
    has_attachments: false,
    scheduled_at: null,
    edited_at: null,
    edited_by: null,
    deleted_at: null,
    redaction: null,
    created_at: '',
    updated_at: '',
  };
  const team = { customer: false, actor: { id: '' } };
  const statusOf = (fields: object, viewer = team) =>
    presentMessage({ ...row, ...fields }, viewer).email_status;
  t.equal(statusOf({}), 'queued');
  t.equal(statusOf({ email_status: 'bounced' }), 'bounced');
  t.equal(statusOf({ email_status: 'bounced' }, { ...team, customer: true }), null);
  t.equal(statusOf({ status: 'draft' }), null);
  t.equal(statusOf({ channel: 'message' }), null);
  t.equal(statusOf({ kind: 'email' }), null);
});
