import { characterBefore, WITHOUT_SPACES } from './scripts.ts';

/** An address within a text, from `start` to before `end`. */
export interface Address {
  readonly start: number;
  readonly end: number;
  readonly href: string;
}

/** Returns whether a link of a text may lead there: to the web, or to a mail program. */
export function isSafeAddress(href: string): boolean {
  return SCHEMES.has(URL.parse(href)?.protocol ?? '');
}

const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:']);

/**
 * Returns the addresses of the web and of mail that are written out in a text, in their order. An
 * address ends before punctuation and symbols that are not ASCII, before a bracket that has no
 * other one within it, and without the punctuation behind it. Takes time linear in the length of
 * the text.
 */
export function addressesIn(text: string): Address[] {
  const found: Address[] = [];
  for (const { 0: sign, index } of text.matchAll(SIGN)) {
    const after = found.at(-1)?.end ?? 0;
    if (index < after) continue;
    const address = sign === '@' ? mailAddress(text, index, after) : webAddress(text, index, sign);
    if (address !== undefined) found.push(address);
  }
  return found;
}

/** Matches where an address may be: its beginning, or the `@` of one of mail. */
const SIGN = /(?<![a-z\d+])https?:\/\/|(?<![\w.@/:-])www\.|@/gi;

function webAddress(text: string, start: number, sign: string): Address | undefined {
  WHOLE.lastIndex = start;
  const [run = ''] = WHOLE.exec(text) ?? [];
  if (run.length === MOST_CHARACTERS) return undefined;
  // Letters of a script without spaces that follow a domain in ASCII belong to the sentence.
  const [host = run] = HOST_BEFORE_LETTERS.exec(run) ?? [];
  const written = withoutEnd(balanced(host));
  const isBare = !sign.endsWith('/');
  if (isBare && !BARE_HOST.test(written)) return undefined;
  const href = isBare ? `http://${written}` : written;
  if (written.length <= sign.length || !isSafeAddress(href)) return undefined;
  return { start, end: start + written.length, href };
}

/** A longer run of characters is no address, so that looking for one takes a bounded time. */
const MOST_CHARACTERS = 8_000;
/** Non-ASCII punctuation that occurs within titles, which are parts of addresses. */
const WITHIN = String.raw`\p{Pd}\p{Pc}\u00b7\u2027\u30fb\uff65`;
const WHOLE = new RegExp(
  String.raw`(?:[!#-;=?-\[\]^_a-z{|}~]|(?![\p{P}\p{S}\p{C}\p{Z}])\P{ASCII}|[${WITHIN}\u200c\u200d]){1,${MOST_CHARACTERS}}`,
  'iuy',
);
const HOST_BEFORE_LETTERS = new RegExp(
  String.raw`^(?:https?:\/\/|www\.)(?:[a-z\d-]+\.)+[a-z]{2,}(?=${WITHOUT_SPACES})`,
  'iu',
);
const BARE_HOST = /^www\.[^./?#]+\.[^./?#]/i;

/** Returns the text up to the first bracket that has no other one. */
function balanced(text: string): string {
  const open: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (CLOSING[character] !== undefined) open.push(at);
    else if (')]}'.includes(character)) {
      if (open.length === 0 || CLOSING[text[open.at(-1)!]!] !== character)
        return text.slice(0, open[0] ?? at);
      open.pop();
    }
  }
  return text.slice(0, open[0]);
}

const CLOSING: Readonly<Record<string, string | undefined>> = { '(': ')', '[': ']', '{': '}' };

function withoutEnd(text: string): string {
  let end = text.length;
  for (let last = characterBefore(text, end); END.test(last); last = characterBefore(text, end)) {
    end -= last.length;
  }
  return text.slice(0, end);
}

const END = new RegExp(String.raw`[!'*,.:;?^_|~\u200c\u200d]|(?!\p{ASCII})[${WITHIN}]`, 'u');

/** Returns the address of mail around an `@`; `from` is where it may begin at the earliest. */
function mailAddress(text: string, at: number, from: number): Address | undefined {
  const earliest = Math.max(from, at - MOST_BEFORE_AT);
  let start = at;
  while (start > earliest && LOCAL.test(text[start - 1]!)) start -= 1;
  while (start < at && !/[a-z\d]/i.test(text[start]!)) start += 1;
  DOMAIN.lastIndex = at + 1;
  const domain = DOMAIN.exec(text)?.[0];
  if (start === at || domain === undefined || /[@/]/.test(text[start - 1] ?? '')) return undefined;
  const end = at + 1 + domain.length;
  if (text[end] === '@') return undefined;
  const written = text.slice(start, end);
  const isNamed = text.slice(Math.max(from, start - 'mailto:'.length), start).toLowerCase() === 'mailto:';
  return { start: isNamed ? start - 'mailto:'.length : start, end, href: `mailto:${written}` };
}

const MOST_BEFORE_AT = 64;
const LOCAL = /[\w.+-]/;
const DOMAIN = /(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z](?:[a-z\d-]{0,61}[a-z\d])/iy;
