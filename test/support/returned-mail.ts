/**
 * `node test/support/returned-mail.ts <folder>` reads each file of a folder as a mail that goes to
 * the return path of a mail with one recipient, with an empty sender, and prints what became of
 * them: how many changed the outcome of that recipient, and which did not, by the beginning of
 * their names.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readInPieces } from '../../packages/mail-reader/test/read-in-pieces.ts';
import { makeBounceAddress } from '../../src/features/mail/outgoing/bounce-address.ts';
import { openAccepting } from '../mail/accepting.ts';
import { addBridgedCase, addMail } from '../mail/fixture.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  process.stderr.write('usage: node test/support/returned-mail.ts <folder>\n');
  process.exit(2);
}

const releases: (() => unknown)[] = [];
const house = await openAccepting({ teardown: (release) => void releases.push(release) });
const fates = new Map<string, number>();
const unread = new Map<string, number>();
for (const name of readdirSync(folder).sort()) {
  const { mail } = await readInPieces(readFileSync(join(folder, name)), 65_536);
  const address = mail.report?.recipients.find((one) => one.address !== null)?.address;
  const { id: conversationId } = await addBridgedCase(house.owner, house.inbox.id);
  const sent = await addMail(house.owner, {
    direction: 'out',
    purpose: 'reply',
    status: 'sent',
    inbox_id: house.inbox.id,
    conversation_id: conversationId,
    recipients: JSON.stringify([
      { address: address ?? 'cleo@customers.example', kind: 'to', status: 'sent', code: null },
    ]),
  });
  const recipients = [makeBounceAddress(house.key, sent.id, house.inbox.address)];
  const { status, purpose, reason } = await house.accept({
    ...mail,
    rfcId: `${name}@measured.example`,
    envelope: { sender: '', recipients },
  });
  const fate = [status, purpose, reason].join(' ');
  fates.set(fate, (fates.get(fate) ?? 0) + 1);
  const kind = name.replace(/-?\d*\.\w+$/, '');
  if (purpose !== 'bounce' || status === 'ignored') unread.set(kind, (unread.get(kind) ?? 0) + 1);
}
for (const counts of [fates, unread]) {
  const rows = [...counts].sort(([, one], [, other]) => other - one);
  process.stdout.write(
    `${rows.map(([name, count]) => `${String(count).padStart(5)} ${name}`).join('\n')}\n\n`,
  );
}
for (const release of releases.reverse()) await release();
process.exit();
