/** The part of a key event by which shortcuts are known. */
export interface KeyPress {
  readonly key: string;
  /** The place of the key, named as on an American keyboard. */
  readonly code: string;
  readonly altKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
  readonly isComposing: boolean;
  /** 229 while an input method handles the key. */
  readonly keyCode: number;
}

/**
 * Returns which key was pressed, for every use of a key beside writing. Returns '' if it belongs to
 * an input method, such as Enter that accepts a Japanese word. Browsers mark such keys in two ways,
 * and some report that Enter only after the composition has ended, without any mark.
 *
 * A letter of another alphabet is the Latin letter at its place. A key of a digit that is pressed
 * with Ctrl or ⌘ is that digit, because Shift gives another character on each keyboard. Every other
 * key is the character that it writes.
 */
export function pressedKey({ key, code, ctrlKey, metaKey, isComposing, keyCode }: KeyPress): string {
  if (isComposing || keyCode === 229 || isCompositionUnderWay) return '';
  const [, letter, digit] = /^(?:Key([A-Z])|Digit([0-9]))$/.exec(code) ?? [];
  if (letter !== undefined && /^[\p{L}\p{M}]+$/u.test(key) && !/\p{Script=Latin}/u.test(key))
    return key === key.toLowerCase() ? letter.toLowerCase() : letter;
  if (digit !== undefined && (ctrlKey || metaKey)) return digit;
  return key;
}

let isCompositionUnderWay = false;

/** Tells `pressedKey` of the compositions in a page. Must be called before anything is shown. */
export function followCompositions(page: EventTarget): void {
  page.addEventListener(
    'compositionstart',
    () => {
      isCompositionUnderWay = true;
    },
    true,
  );
  page.addEventListener(
    'compositionend',
    () => {
      setTimeout(() => {
        isCompositionUnderWay = false;
      }, 0);
    },
    true,
  );
}
