/**
 * Returns what the body of a message leaves out of the text of its mail: quotes, the signature, and
 * what is beyond the longest body. Empty if the body is the whole text. If the body is not made of
 * the lines of the text, because it was edited, returns the whole text.
 */
export function omittedText(text: string, body: string): string {
  const lines = text.trim().split('\n');
  const kept = body.trim().split('\n');
  return (linesBeside(lines, kept, false) ?? linesBeside(lines, kept, true) ?? lines).join('\n').trim();
}

/**
 * Returns the lines that are not among the kept ones, in their order, or null if those are not all
 * among them. `isCut`: the last kept one may be the beginning of a line.
 */
function linesBeside(lines: readonly string[], kept: readonly string[], isCut: boolean): string[] | null {
  const beside: string[] = [];
  let at = 0;
  for (const line of lines) {
    const next = kept[at]?.trim();
    const isLast = at === kept.length - 1;
    if (next === line.trim()) at += 1;
    else if (next !== undefined && isCut && isLast && line.trim().startsWith(next)) {
      beside.push(line.trim().slice(next.length));
      at += 1;
    } else beside.push(line);
  }
  return at < kept.length ? null : beside;
}
