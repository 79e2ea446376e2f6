import { MAIL_LIMITS } from '@parley/mail-reader/mail-limits.ts';
import type { Mailbox, ReadMail } from '@parley/mail-reader/parsed-mail.ts';
import { CORPUS } from '@parley/mail-reader/test/corpus/corpus.ts';
import { type ReadParts, readInPieces } from '@parley/mail-reader/test/read-in-pieces.ts';
import type { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface MailParseOptions extends Seeded {
  /** Number of mails, each a changed mail of the corpus. */
  readonly mails: number;
}

interface MailParseFigures extends Found {
  readonly mails: number;
  readonly megabytes: number;
  /** Number of mails read as damaged, with attachments, and as reports. */
  readonly damaged: number;
  readonly attached: number;
  readonly reports: number;
  readonly mailsPerSecond: number;
  /** Longest time in ms for a mail, and its name. */
  readonly worstMs: number;
  readonly worst: string;
  /** Growth of the heap, in megabytes. */
  readonly grownMb: number;
}

/**
 * Reads mails of the corpus after random changes. None throws, and none takes long. The result can
 * be stored by Postgres and shown by a page, and is the same in whatever pieces the mail arrives.
 */
export const mailParse = campaign({ whole: () => ({ mails: 50_000 }), run });

async function run(
  _: Teardown,
  { seed, mails }: MailParseOptions,
  random: Random,
): Promise<MailParseFigures> {
  // The large mails take a second each, and the test of the corpus reads them unchanged.
  const sources = CORPUS.map(({ name, source }) => ({ name, bytes: source() })).filter(
    ({ bytes }) => bytes.length < MAX_BYTES,
  );
  const problems: string[] = [];
  const counts = { bytes: 0, damaged: 0, attached: 0, reports: 0 };
  let worstMs = 0;
  let worst = '';
  const before = process.memoryUsage().heapUsed;
  const startedAt = performance.now();
  for (let index = 0; index < mails && problems.length < MAX_PROBLEMS; index += 1) {
    const { name, bytes } = random.pick(sources);
    const changed = changedMail(random, bytes, sources);
    const label = `${name}, mail ${index} of seed ${seed}`;
    counts.bytes += changed.length;
    const beganAt = performance.now();
    try {
      const whole = await readInPieces(changed, changed.length);
      const pieces = await readInPieces(changed, 1 + random.below(200));
      const found = problemsOf(whole);
      if (JSON.stringify(pieces) !== JSON.stringify(whole)) found.push('it depends on the pieces');
      problems.push(...found.map((problem) => `${label}: ${problem}`));
      if (whole.mail.isDamaged) counts.damaged += 1;
      if (whole.attachments.length > 0) counts.attached += 1;
      if (whole.mail.report !== null) counts.reports += 1;
    } catch (error) {
      problems.push(`${label}: ${error instanceof Error ? error.stack : error}`);
    }
    const ms = performance.now() - beganAt;
    if (ms > worstMs) [worstMs, worst] = [ms, label];
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  if (worstMs > MAX_MS) problems.push(`${worst} took ${Math.round(worstMs)} ms`);
  const { bytes, ...rest } = counts;
  return {
    mails,
    megabytes: Math.round(bytes / 1e6),
    ...rest,
    mailsPerSecond: Math.round(mails / seconds),
    worstMs: Math.round(worstMs),
    worst,
    grownMb: Math.round((process.memoryUsage().heapUsed - before) / 1e6),
    problems,
  };
}

const MAX_BYTES = 40_000;
const MAX_PROBLEMS = 20;
/**
 * Mails of this size take less than a tenth of it on an idle machine: more is a hang, not the load
 * of neighbours.
 */
const MAX_MS = 20_000;

type Change = (random: Random, bytes: Buffer, others: readonly { readonly bytes: Buffer }[]) => Buffer;

function changedMail(random: Random, bytes: Buffer, others: readonly { readonly bytes: Buffer }[]): Buffer {
  let changed = bytes;
  for (let left = 1 + random.below(6); left > 0; left -= 1) {
    changed = random.pick(CHANGES)(random, changed, others);
  }
  return changed.subarray(0, 4 * MAX_BYTES);
}

const CHANGES: readonly Change[] = [
  // Changed bytes.
  (random, bytes) => {
    const changed = Buffer.from(bytes);
    for (let left = 1 + random.below(8); left > 0; left -= 1) {
      changed[random.below(changed.length)] = random.below(256);
    }
    return changed;
  },
  // A missing range.
  (random, bytes) => {
    const [from, to] = rangeOf(random, bytes);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
  },
  // A repeated range.
  (random, bytes) => {
    const [from, to] = rangeOf(random, bytes);
    const times = random.pick([1, 2, 50]);
    return Buffer.concat([
      bytes.subarray(0, to),
      ...Array.from({ length: times }, () => bytes.subarray(from, Math.min(to, from + 2_000))),
      bytes.subarray(to),
    ]);
  },
  // A meaningful word.
  (random, bytes) => {
    const at = random.below(bytes.length + 1);
    const word = Buffer.from(random.pick(WORDS), 'latin1');
    return Buffer.concat([bytes.subarray(0, at), word, bytes.subarray(at)]);
  },
  // A field of the header, in front of the existing fields.
  (random, bytes) => Buffer.concat([Buffer.from(`${random.pick(FIELDS)}\r\n`, 'latin1'), bytes]),
  // The beginning of one mail and the end of another.
  (random, bytes, others) => {
    const other = random.pick(others).bytes;
    return Buffer.concat([
      bytes.subarray(0, random.below(bytes.length + 1)),
      other.subarray(random.below(other.length)),
    ]);
  },
  // A cut end.
  (random, bytes) => bytes.subarray(0, random.below(bytes.length + 1)),
  // Other line ends.
  (random, bytes) =>
    Buffer.from(bytes.toString('latin1').replace(/\r\n/g, random.pick(['\n', '\r', '\r\r\n'])), 'latin1'),
];

const WORDS = [
  '\r\n',
  '\n\n',
  '\r',
  '\0',
  '\x1b$',
  '--',
  '\r\n--b\r\n',
  '\r\n--b--\r\n',
  '=',
  '=\r\n',
  '=?utf-8?Q?',
  '?=',
  '=?utf-8?B?w6Q',
  '"',
  '\\',
  '<',
  '>',
  ',',
  ';',
  ':',
  '(',
  "utf-8''%",
  '\xff\xfe',
  '\xf0\x9f',
  '\xed\xa0\x80',
  '+AD4-',
  '\r\n> ',
  '\r\n-- \r\n',
  '\r\nFrom: a\r\nTo: b\r\nSent: c\r\n',
  '\r\nOn 1.1.2026, A wrote:\r\n',
  '<b',
  '<!--',
  '-->',
  '<script>',
  '</script>',
  '<img src=cid:x onerror=alert(1)>',
  '<a href="javascript:alert(1)">',
  '<svg><style>',
  '<math>',
  '<blockquote>',
  '</p>',
  '&lt;script&gt;',
  '&#0;',
  '&#xd800;',
  '<div style="position:fixed;background:url(x)">',
  '<![CDATA[',
];

const FIELDS = [
  'Content-Type: multipart/mixed; boundary=b',
  'Content-Type: multipart/alternative; boundary="b"',
  'Content-Type: multipart/report; boundary=b',
  'Content-Type: text/html; charset=utf-16le',
  'Content-Type: text/plain; charset=gb18030; format=flowed; delsp=yes',
  'Content-Type: message/delivery-status',
  'Content-Type: application/pdf; name*0*=x; name*1="y',
  'Content-Transfer-Encoding: base64',
  'Content-Transfer-Encoding: quoted-printable',
  'Content-Disposition: attachment; filename="\x00../../etc/passwd"',
  'From: =?utf-16?B?2AA=?= <a@b>',
  'From: "a\r\n b" <"x y"@z>, <<c@d>',
  'To: a:b:c;,<d@e',
  'Message-ID: <\x00a b>',
  'References: <<a>> <b>c<',
  'Date: 0',
  'Return-Path: <>',
  'X-Failed-Recipients: a@b, c',
];

function rangeOf(random: Random, bytes: Buffer): [from: number, to: number] {
  const from = random.below(bytes.length + 1);
  return [from, Math.min(bytes.length, from + 1 + random.below(random.pick([4, 100, 2_000])))];
}

/** Returns what is wrong with a mail, whatever its bytes were. */
function problemsOf({ mail, attachments, problems }: ReadParts): string[] {
  const found = [...problems];
  const expect = (holds: boolean, what: string) => {
    if (!holds) found.push(what);
  };
  for (const line of linesOf(mail)) expect(isLine(line), `a line is ${JSON.stringify(line).slice(0, 200)}`);
  for (const text of [mail.text, mail.visibleText, mail.html ?? ''])
    expect(isText(text), 'a text has control characters');
  expect(mail.text.length <= MAIL_LIMITS.textCharacters, 'the text is too long');
  expect(mail.visibleText.length <= MAIL_LIMITS.visibleCharacters, 'the visible text is too long');
  expect((mail.html ?? '').length <= 6 * MAIL_LIMITS.htmlCharacters, 'the HTML is too long');
  expect((mail.visibleText.trim() === '') === (mail.text.trim() === ''), 'the visible text is empty');
  expect(isWithin(mail.visibleText, mail.text), 'the visible text is not of the text');
  const harm = harmIn(mail.html ?? '');
  expect(harm === undefined, `the HTML has ${harm}`);
  for (const box of [mail.from, mail.replyTo, ...mail.to, ...mail.cc])
    expect(isMailbox(box), `an address is ${box?.address}`);
  for (const id of [mail.rfcId, mail.inReplyTo, ...mail.references, mail.report?.originalRfcId ?? null]) {
    expect(id === null || /^[^\s<>]{1,900}$/.test(id), `an id is ${id}`);
  }
  expect(mail.references.length <= 100, 'there are too many references');
  expect(attachments.length <= MAIL_LIMITS.attachments, 'there are too many attachments');
  for (const [filename, contentType, size] of attachments) {
    expect(filename !== '' && filename.length <= 255 && isLine(filename), `a file is called ${filename}`);
    expect(
      /^[^\s/;]+\/[^\s/;]+$/.test(contentType) && contentType.length < 256,
      `a file is of ${contentType}`,
    );
    expect(size > 0, 'a file is empty');
  }
  for (const { address, status } of mail.report?.recipients ?? []) {
    expect(address === null || isMailbox({ address, name: null }), `a recipient is ${address}`);
    expect(status === null || /^[245]\.\d+\.\d+$/.test(status), `a status is ${status}`);
  }
  return found;
}

function linesOf(mail: ReadMail): string[] {
  const names = [mail.from, mail.replyTo, ...mail.to, ...mail.cc].map((box) => box?.name ?? '');
  return [mail.subject ?? '', ...names, ...mail.headers.flatMap(({ name, value }) => [name, value])];
}

function isLine(text: string): boolean {
  return isText(text) && !/[\n\t]/.test(text);
}

function isText(text: string): boolean {
  return text.isWellFormed() && !/[^\P{Cc}\t\n]/u.test(text);
}

function isMailbox(box: Mailbox | null): boolean {
  if (box === null) return true;
  const { address } = box;
  return (
    /^[^\s<>\p{Cc}]{1,320}$/u.test(address) && address.includes('@') && address === address.toLowerCase()
  );
}

/**
 * Returns whether the lines of `part` are lines of `whole`, in their order; the first and the last
 * may be cut.
 */
function isWithin(part: string, whole: string): boolean {
  let at = 0;
  for (const line of part.split('\n')) {
    const found = whole.indexOf(line.trim(), at);
    if (found === -1) return false;
    at = found + line.trim().length;
  }
  return true;
}

/**
 * Returns markup that would run, load or leave its place; undefined if there is none. The sanitizer
 * escapes angle brackets in texts and values.
 */
function harmIn(html: string): string | undefined {
  for (const [tag, name = '', attributes = ''] of html.matchAll(/<([^\s<>/]+)([^<>]*)>/g)) {
    if (FORBIDDEN_TAGS.has(name.toLowerCase())) return tag;
    for (const [, attribute = '', value = ''] of attributes.matchAll(/([^\s=/]+)(?:="([^"]*)")?/g)) {
      const isHarmful =
        /^on|^(srcset|background|formaction|action|poster|data)$/i.test(attribute) ||
        (attribute === 'href' && !/^(https?:|mailto:|tel:)/.test(value)) ||
        (attribute === 'src' && !/^data:image\/(png|jpe?g|gif|webp);/i.test(value)) ||
        (attribute === 'style' && /url|expression|position|import|\\/i.test(value));
      if (isHarmful) return `${attribute} in ${tag}`;
    }
  }
  return undefined;
}

const FORBIDDEN_TAGS = new Set([
  'script',
  'iframe',
  'form',
  'input',
  'button',
  'style',
  'object',
  'embed',
  'svg',
  'math',
  'link',
  'meta',
  'base',
  'title',
  'textarea',
  'select',
  'template',
  'noscript',
  'video',
  'audio',
  'frame',
  'frameset',
  'xmp',
  'plaintext',
]);
