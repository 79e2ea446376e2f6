import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAccepting } from './accepting.ts';
import { addBridgedCase, addMail } from './fixture.ts';

/**
 * `node test/mail/measure-words.ts <folder>` prints how many words mails lose on their way into a
 * message. The folder has the texts of mails in `emails/`, and where they are known, in files of
 * the same names in `trimmed/`, the words that are the person's own. Each text comes in twice: as a
 * first mail, and as an answer to a mail of ours.
 */
async function measure(folder: string): Promise<object> {
  const { bodyOf, owner, inbox } = await openAccepting({
    teardown: (release) => void releases.push(release),
  });
  const known = await addBridgedCase(owner, inbox.id, { email: 'cleo@customer.example' });
  const sent = { direction: 'out', purpose: 'reply', status: 'sent' } as const;
  const ours = await addMail(owner, { ...sent, inbox_id: inbox.id, conversation_id: known.id });
  const found = { mails: 0, cut_from_first: [] as string[], cut_from_answers: [] as string[] };
  const pairs = { as_expected: 0, left_over: [] as string[], lost: [] as string[] };
  const expected = new Set(
    readdirSync(folder).includes('trimmed') ? readdirSync(join(folder, 'trimmed')) : [],
  );
  for (const name of readdirSync(join(folder, 'emails')).sort()) {
    const text = readFileSync(join(folder, 'emails', name), 'utf8');
    const [first, answer] = [
      wordsOf(await bodyOf(text)),
      wordsOf(await bodyOf(text, { 'In-Reply-To': `<${ours.rfc_id}>` })),
    ];
    const all = wordsOf(text);
    found.mails += 1;
    if (missing(all, first) > 0) found.cut_from_first.push(name);
    if (missing(all, answer) > 0) found.cut_from_answers.push(`${name}: ${missing(all, answer)}`);
    if (!expected.has(name)) continue;
    const own = wordsOf(readFileSync(join(folder, 'trimmed', name), 'utf8'));
    if (missing(own, answer) > 0) pairs.lost.push(`${name}: ${missing(own, answer)}`);
    else if (answer.length > own.length) pairs.left_over.push(`${name}: ${answer.length - own.length}`);
    else pairs.as_expected += 1;
  }
  return expected.size === 0 ? found : { ...found, ...pairs };
}

function wordsOf(text: string | null): string[] {
  return (text ?? '').split(/\s+/).filter((word) => word !== '');
}

/** Returns how many of the words are not among the others in their order. */
function missing(words: readonly string[], others: readonly string[]): number {
  let at = 0;
  for (const other of others) if (other === words[at]) at += 1;
  return words.length - at;
}

const releases: (() => unknown)[] = [];
const [folder] = process.argv.slice(2);
if (folder === undefined) {
  process.stderr.write('usage: node test/mail/measure-words.ts <folder>\n');
  process.exit(2);
}
process.stdout.write(`${JSON.stringify(await measure(folder), null, 2)}\n`);
for (const release of releases.reverse()) await release();
process.exit();
