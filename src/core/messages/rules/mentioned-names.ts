/**
 * Returns the names after an `@` in a text, in lower case, each once, in their order. Skips code
 * (fenced blocks and backticks), URLs and e-mail addresses. Takes time linear in the length of any
 * text.
 */
export function mentionedNames(text: string): ReadonlySet<string> {
  const names = new Set<string>();
  if (!text.includes('@')) return names;
  for (const [word] of withoutCode(text).matchAll(/\S+/g)) {
    if (!word.includes('@')) continue;
    const url = URL_START.exec(word);
    for (const { 1: name = '', index } of word.matchAll(NAME)) {
      if (url !== null && index > url.index) break;
      // `@grace@example.org` is an address on another server.
      if (word[index + 1 + name.length] !== '@') names.add(name.toLowerCase());
    }
  }
  return names;
}

/** Matches the start of a URL within a word; the URL extends to the end of the word. */
const URL_START = /[a-z][a-z\d+.-]{0,15}:\/\/|(?<![a-z\d])www\./i;

const ALPHANUMERIC = String.raw`[\p{L}\p{M}\p{N}]`;
/**
 * Characters that may occur within a name, as in an e-mail address, but not at its end: `@grace.`,
 * `**@grace**`. The apostrophe is not among them: `@grace's`.
 */
const WITHIN = '[.!#$%&*+/=?^_{|}~-]';
/** An `@` directly after a name belongs to an e-mail address, or to a URL without a scheme. */
const NAME = new RegExp(
  `(?<!${ALPHANUMERIC}${WITHIN}*)@(${ALPHANUMERIC}+(?:${WITHIN}+${ALPHANUMERIC}+)*)`,
  'gu',
);

function withoutCode(text: string): string {
  if (!text.includes('`') && !text.includes('~~~')) return text;
  return withoutSpans(withoutFences(text));
}

/**
 * Removes each block, from its fence to the next fence of the same kind that is at least as long,
 * or to the end of the text (CommonMark 4.5).
 */
function withoutFences(text: string): string {
  const kept: string[] = [];
  let open: string | undefined;
  for (const line of text.split(/\r?\n/)) {
    const fence = FENCE.exec(line)?.[1];
    if (open === undefined) {
      if (
        fence === undefined ||
        (fence[0] === '`' && line.lastIndexOf('`') >= line.indexOf('`') + fence.length)
      ) {
        kept.push(line);
      } else open = fence;
    } else if (fence?.startsWith(open) && line.trim() === fence) open = undefined;
  }
  return kept.join('\n');
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** Removes spans between runs of equal length; an unmatched run is text (CommonMark 6.1). */
function withoutSpans(text: string): string {
  const runs = [...text.matchAll(/`+/g)].map(({ 0: { length }, index }) => ({ length, index }));
  const starts = Map.groupBy(runs, ({ length }) => length);
  // Runs are taken from the end, so a run that a span has passed is not visited again.
  for (const ofLength of starts.values()) ofLength.reverse();
  let kept = '';
  let from = 0;
  for (const { length, index } of runs) {
    if (index < from) continue;
    const ofLength = starts.get(length)!;
    while (ofLength.length > 0 && ofLength.at(-1)!.index <= index) ofLength.pop();
    const end = ofLength.at(-1);
    if (end === undefined) continue;
    kept += `${text.slice(from, index)} \` `;
    from = end.index + length;
  }
  return kept + text.slice(from);
}
