import { fold } from '@parley/protocol/folding.ts';

/** The text before the caret after an `@`. */
export interface Asked {
  /** The position of the `@`. */
  readonly from: number;
  readonly words: string;
}

/** Returns the name that is being written at the caret, or null. */
export function askedAt(text: string, caret: number): Asked | null {
  const found = /(?:^|[\s([{"'*_])@([^\s@]{0,40}(?: [^\s@]{1,40})?)$/u.exec(text.slice(0, caret));
  return found === null ? null : { from: caret - found[1]!.length - 1, words: found[1]! };
}

interface Named {
  readonly name: string;
  /** A second name, such as an address. */
  readonly detail: string;
}

/**
 * Returns the candidates that words mean, in their order: by a word of the name, or the detail.
 */
export function meant<Candidate extends Named>(
  words: string,
  candidates: readonly Candidate[],
  most = 8,
): Candidate[] {
  const asked = fold(words);
  const isMeant = ({ name, detail }: Candidate) => {
    const folded = fold(name);
    return folded.startsWith(asked) || folded.includes(` ${asked}`) || fold(detail).startsWith(asked);
  };
  return candidates.filter(isMeant).slice(0, most);
}
