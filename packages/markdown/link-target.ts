/** The address behind the text of a link: `(https://… "title")`. */
export interface Destination {
  readonly href: string;
  readonly title: string | null;
  /** The position behind it. */
  readonly end: number;
}

/**
 * Returns the destination that begins at a position; undefined if none does. Brackets within an
 * address are balanced, or the address is in angle brackets.
 */
export function destinationAt(text: string, start: number): Destination | undefined {
  if (text[start] !== '(') return undefined;
  const from = blanksEnd(text, start + 1);
  ANGLED.lastIndex = from;
  const angled = ANGLED.exec(text);
  const to = angled === null ? addressEnd(text, from) : ANGLED.lastIndex;
  if (to === undefined || to === from) return undefined;
  const written = angled === null ? text.slice(from, to) : angled[1]!;
  const href = written.replace(/\\([!-/:-@[-`{-~])/g, '$1');
  const behind = blanksEnd(text, to);
  if (text[behind] === ')') return { href, title: null, end: behind + 1 };
  if (behind === to) return undefined;
  TITLE.lastIndex = behind;
  const [, , quoted, bracketed] = TITLE.exec(text) ?? [];
  const title = quoted ?? bracketed;
  if (title === undefined) return undefined;
  const end = blanksEnd(text, TITLE.lastIndex);
  return text[end] === ')' ? { href, title, end: end + 1 } : undefined;
}

const ANGLED = /<([^\n<>]{0,2000})>/y;
const TITLE = /(["'])((?:(?!\1)[^\\]|\\[\s\S]){0,999})\1|\(([^()]{0,999})\)/y;

function blanksEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\n'.includes(text[at]!)) at += 1;
  return at;
}

/** Returns the position behind an address without blanks; undefined if a bracket stays open. */
function addressEnd(text: string, from: number): number | undefined {
  let depth = 0;
  const most = Math.min(text.length, from + MOST_CHARACTERS);
  for (let at = from; at < most; at++) {
    const character = text[at]!;
    if (character === '\\') at += 1;
    else if (character <= ' ') return depth === 0 ? at : undefined;
    else if (character === '(') depth += 1;
    else if (character === ')' && --depth < 0) return at;
  }
  return undefined;
}

const MOST_CHARACTERS = 2_000;
