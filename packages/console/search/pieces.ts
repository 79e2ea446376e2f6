import type { SearchHighlight } from '@parley/protocol/resources/search-hit.ts';

/** A piece of a text, and whether it has searched words. */
export interface Piece {
  readonly text: string;
  readonly isHit: boolean;
}

/** Splits a text into pieces. */
export function piecesOf({ text, ranges }: Pick<SearchHighlight, 'text' | 'ranges'>): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const { start, end } of ranges) {
    pieces.push({ text: text.slice(at, start), isHit: false }, { text: text.slice(start, end), isHit: true });
    at = end;
  }
  pieces.push({ text: text.slice(at), isHit: false });
  return pieces.filter((piece) => piece.text !== '');
}
