/**
 * Joins the lines that a mailer wrapped (RFC 3676): a line that ends with a blank continues on the
 * next line. `delSp` means that the blank is not part of the text.
 */
export function unflowed(text: string, delSp: boolean): string {
  const paragraphs: { readonly quotes: string; readonly pieces: string[] }[] = [];
  let goesOn = false;
  for (const line of text.split('\n')) {
    const quotes = /^>*/.exec(line)?.[0] ?? '';
    const content = line.slice(quotes.length).replace(/^ /, '');
    const isSignature = content === '-- ';
    const piece = delSp && !isSignature ? content.replace(/ $/, '') : content;
    const last = paragraphs.at(-1);
    if (goesOn && !isSignature && last?.quotes === quotes) last.pieces.push(piece);
    else paragraphs.push({ quotes, pieces: [piece] });
    goesOn = content.endsWith(' ') && !isSignature;
  }
  return paragraphs
    .map(({ quotes, pieces }) => (quotes === '' ? '' : `${quotes} `) + pieces.join(''))
    .join('\n');
}
