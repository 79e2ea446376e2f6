/**
 * Mail from a mailbox, with a real IMAP server: each mail is taken once, whatever breaks off.
 *
 * Without influence: ANSWERS, src/features/agents, src/features/cells, src/features/compliance,
 * src/features/identity, src/features/import, src/features/platform-events, src/features/push,
 * src/features/search, src/features/webhooks, src/features/widgets, src/platform/outbound.
 */

import { randomBytes } from 'node:crypto';
import t, { type Test } from 'tap';
import { ImapPoller, REFUSED_KEYWORD } from '../../src/features/mail/transports/imap-poller.ts';
import { DatabaseUnavailableError } from '../../src/platform/db/connection/unavailable.ts';
import { mailTo, openArrivals } from '../mail/arrivals.ts';
import { startDovecot } from '../support/dovecot.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';

const arrivals = await openArrivals(t);
const { inbox, metrics } = arrivals;
const { database } = arrivals.ground;
const box = await startDovecot(t);

t.test('what is there and what arrives is taken, and marked once it is committed', async (t) => {
  const mail = mailTo('support@harbor.example', 'there@x', `${randomBytes(200_000).toString('base64')}\r\n`);
  const uid = await box.append(mail);
  let seenBefore: readonly string[] | undefined;
  arrivals.beforeAccept = async () => {
    seenBefore ??= (await box.flags())[uid];
  };
  poll(t);
  await taken('there@x');
  const [row] = await stored('there@x');
  t.equal(row!.source, mail, 'every byte of it');
  t.equal(row!.inbox_id, inbox.id);
  await until(async () => (await box.flags())[uid]!.includes('\\Seen'), { what: 'it is marked' });
  t.strictSame(seenBefore, []);
  arrivals.beforeAccept = () => {};
  // The next look is a minute away: the server announces it.
  await box.append(mailTo('support@harbor.example', 'announced@x'));
  await taken('announced@x');
});

t.test('one that is refused keeps none of the others, and is not tried again', async (t) => {
  const before = (await arrivals.leftovers()).rows;
  const uids = [
    await box.append(
      mailTo('x@elsewhere.example', 'elsewhere@x').replace('To: ', 'Delivered-To: x@y.example\r\nTo: '),
    ),
    await box.append(
      Buffer.concat([
        Buffer.from(mailTo('support@harbor.example', 'large@x')),
        Buffer.alloc(26_300_000, 'x'),
      ]),
    ),
    await box.append(mailTo('support@harbor.example', 'good@x')),
  ];
  poll(t, { user: 'nobody@harbor.example' });
  await taken('good@x');
  await until(async () => (await box.flags())[uids[2]!]!.includes('\\Seen'), { what: 'the round is over' });
  const flags = await box.flags();
  t.strictSame(
    uids.map((uid) => flags[uid]),
    [[REFUSED_KEYWORD], [REFUSED_KEYWORD], ['\\Seen']],
  );
  t.equal((await arrivals.leftovers()).rows, before + 1);
  t.match(await metrics.registry.metrics(), /mail_refusals_total\{transport="imap",reason="size"\} 1/);
});

t.test('a blind copy is for the inbox of the mailbox', async (t) => {
  await box.append(mailTo('undisclosed-recipients:;', 'blind@x'));
  poll(t);
  await taken('blind@x');
});

t.test('what may pass is tried again, and the others go on', async (t) => {
  let failures = 0;
  arrivals.beforeAccept = ({ mail }) => {
    if (mail.rfcId !== 'again@x' || failures === 2) return;
    failures += 1;
    throw new DatabaseUnavailableError('gone');
  };
  const uid = await box.append(mailTo('support@harbor.example', 'again@x'));
  await box.append(mailTo('support@harbor.example', 'behind@x'));
  poll(t, {}, { lookMs: 50 });
  await taken('behind@x');
  await taken('again@x');
  t.equal(failures, 2);
  await until(async () => (await box.flags())[uid]!.includes('\\Seen'), { what: 'it is marked' });
  arrivals.beforeAccept = () => {};
});

t.test('one node at a time, and another once that is gone', async (t) => {
  const first = poll(t, {}, { nodeId: 'one' });
  await box.append(mailTo('support@harbor.example', 'first@x'));
  await taken('first@x');
  poll(t, {}, { nodeId: 'two' });
  const holder = async () => {
    const settings = database.kysely
      .selectFrom('settings')
      .select('value')
      .where('name', '=', 'imap_mailbox');
    return (await settings.executeTakeFirst())?.value;
  };
  t.equal(await holder(), 'one');
  await first.close();
  await until(async () => (await holder()) === 'two', { what: 'the other has it' });
  await box.append(mailTo('support@harbor.example', 'second@x'));
  await taken('second@x');
});

t.test(
  'a server that goes away, a mailbox with a new UIDVALIDITY, a node that dies before it marks',
  async (t) => {
    poll(t, {}, { lookMs: 50 });
    await box.append(mailTo('support@harbor.example', 'connected@x'));
    await taken('connected@x');
    await box.recreate();
    await box.append(mailTo('support@harbor.example', 'recreated@x'));
    await box.append(mailTo('support@harbor.example', 'connected@x'));
    await taken('recreated@x');
    await until(async () => Object.values(await box.flags()).every((flags) => flags.includes('\\Seen')), {
      what: 'all is taken',
    });
    t.equal((await stored('connected@x')).length, 1, 'taken again, as the same mail');
  },
);

t.test('it ends at once in the middle of a mail, which is left for the next', async (t) => {
  let isHeld = false;
  arrivals.beforeAccept = () => {
    isHeld = true;
    throw new DatabaseUnavailableError('gone');
  };
  const uid = await box.append(mailTo('support@harbor.example', 'stopped@x'));
  const poller = poll(t);
  await until(() => isHeld, { what: 'it is being taken' });
  await poller.close();
  t.strictSame((await box.flags())[uid], []);
  arrivals.beforeAccept = () => {};
  poll(t);
  await taken('stopped@x');
});

function poll(
  t: Test,
  { user = box.user } = {},
  { nodeId = 'one', lookMs = 60_000 }: { nodeId?: string; lookMs?: number } = {},
): ImapPoller {
  const mailbox = {
    host: '127.0.0.1',
    port: box.port,
    secure: false,
    user,
    password: 'secret',
    mailbox: 'INBOX',
  };
  const { intake } = arrivals;
  const poller = new ImapPoller({
    mailbox,
    requireTls: false,
    database,
    intake,
    nodeId,
    metrics,
    log,
    everyMs: 50,
    lookMs,
  });
  t.teardown(() => poller.close());
  return poller;
}

async function taken(id: string): Promise<void> {
  await until(async () => (await stored(id)).length > 0, { what: `${id} is taken` });
}

async function stored(id: string) {
  return (await arrivals.mails()).filter(({ rfc_id }) => rfc_id === id);
}
