/** Returns a value as JSON in which every character that cannot be seen is an escape. */
export function jsonText(value: unknown): string {
  return (JSON.stringify(value, null, 2) ?? 'null').replaceAll(HIDDEN, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Returns whether a text has characters that cannot be seen. */
export function hasHidden(text: string): boolean {
  return text.search(HIDDEN) >= 0;
}

/** Characters that change the order of a text, or take no space. Lines end by line feeds alone. */
const HIDDEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\u115f\u1160\u3164\uffa0]/gu;
