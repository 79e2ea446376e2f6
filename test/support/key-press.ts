import type { KeyPress } from '@parley/ui/typing/pressed-key.ts';

/** Returns an event's fields for a key, on a keyboard that has it at the place `code`. */
export function keyPress(key: string, code: string, more: Partial<KeyPress> = {}): KeyPress {
  return {
    key,
    code,
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    shiftKey: false,
    isComposing: false,
    keyCode: 0,
    ...more,
  };
}
