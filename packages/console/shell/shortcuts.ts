import { useKeys } from '@parley/ui/hooks/use-keys.ts';
import { isForText } from '@parley/ui/typing/for-text.ts';
import { type KeyPress, pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { texts } from '../texts/texts.ts';

interface Shortcut {
  /** Keys that are pressed together; `Mod` is Ctrl, or ⌘ on a Mac. */
  readonly keys: readonly string[];
  readonly does: string;
}

export interface ShortcutGroup {
  readonly title: string;
  readonly shortcuts: readonly Shortcut[];
}

/**
 * All keys of the console, as its help lists them. A folder with keys of its own has a group here.
 */
export const SHORTCUTS: readonly ShortcutGroup[] = [
  {
    title: texts.shell.keys.everywhere,
    shortcuts: [
      { keys: ['Mod', 'K'], does: texts.shell.keys.find },
      { keys: ['J'], does: texts.shell.keys.next },
      { keys: ['K'], does: texts.shell.keys.previous },
      { keys: ['F6'], does: texts.shell.keys.nextPart },
      { keys: ['N'], does: texts.shell.keys.note },
      { keys: ['Z'], does: texts.shell.keys.undo },
      { keys: ['/'], does: texts.shell.keys.search },
      { keys: ['?'], does: texts.shell.keys.help },
    ],
  },
  {
    title: texts.shell.keys.inConversation,
    shortcuts: [
      { keys: ['R'], does: texts.shell.keys.reply },
      { keys: ['E'], does: texts.shell.keys.done },
      { keys: ['S'], does: texts.shell.keys.snooze },
      { keys: ['A'], does: texts.shell.keys.assign },
    ],
  },
  {
    title: texts.shell.keys.inList,
    shortcuts: [
      { keys: ['J'], does: texts.shell.keys.down },
      { keys: ['K'], does: texts.shell.keys.up },
      { keys: ['Enter'], does: texts.shell.keys.open },
      { keys: ['U'], does: texts.shell.keys.markRead },
      { keys: ['S'], does: texts.shell.keys.snoozeRow },
      { keys: ['M'], does: texts.shell.keys.mute },
      { keys: ['E'], does: texts.shell.keys.doneRow },
      { keys: ['A'], does: texts.shell.keys.assign },
      { keys: ['X'], does: texts.shell.keys.select },
      { keys: ['Shift', 'F10'], does: texts.shell.keys.allActions },
    ],
  },
  {
    title: texts.shell.keys.onMessage,
    shortcuts: [
      { keys: ['↑'], does: texts.shell.keys.above },
      { keys: ['↓'], does: texts.shell.keys.below },
      { keys: ['+'], does: texts.shell.keys.react },
      { keys: ['→'], does: texts.shell.keys.through },
      { keys: ['T'], does: texts.shell.keys.thread },
      { keys: ['W'], does: texts.shell.keys.edit },
      { keys: ['P'], does: texts.shell.keys.pin },
      { keys: ['F'], does: texts.shell.keys.forward },
      { keys: ['C'], does: texts.shell.keys.copy },
      { keys: ['U'], does: texts.shell.keys.markUnread },
      { keys: ['Delete'], does: texts.shell.keys.delete },
      { keys: ['M'], does: texts.shell.keys.allActions },
    ],
  },
];

export type GlobalKey =
  | 'find'
  | 'new'
  | 'search'
  | 'help'
  | 'undo'
  | 'nextPart'
  | 'previousPart'
  | ConversationKey;

/** Keys of the open conversation, which has a control for each. */
type ConversationKey = 'reply' | 'done' | 'snooze' | 'assign';

/** Runs a key's handler anywhere in the page, unless a text may take it or a dialog is open. */
export function useGlobalKeys(handlers: Readonly<Record<GlobalKey, () => void>>): void {
  useKeys((event) => {
    const key = globalKey(event, isForText(event.target));
    if (event.defaultPrevented || key === undefined) return;
    if (document.querySelector('dialog[open]') !== null) return;
    event.preventDefault();
    handlers[key]();
  });
}

/** Returns the meaning of a key. In a text only keys that write nothing have a meaning. */
export function globalKey(press: KeyPress, isInText: boolean): GlobalKey | undefined {
  const { ctrlKey, metaKey, altKey, shiftKey } = press;
  const key = pressedKey(press);
  if (altKey) return undefined;
  if (ctrlKey !== metaKey) return !shiftKey && key.toLowerCase() === 'k' ? 'find' : undefined;
  if (ctrlKey) return undefined;
  if (key === 'F6') return shiftKey ? 'previousPart' : 'nextPart';
  return isInText ? undefined : PLAIN[key];
}

const PLAIN: Readonly<Record<string, GlobalKey>> = {
  n: 'new',
  r: 'reply',
  e: 'done',
  s: 'snooze',
  a: 'assign',
  z: 'undo',
  '/': 'search',
  '?': 'help',
};

/** A control of the open conversation that has a key. */
interface Control {
  readonly label: string;
  readonly key: string;
  readonly press: () => void;
}

/** Returns the controls of the open conversation that have keys, as the page shows them. */
export function controlsWithKeys(): Control[] {
  return [...document.querySelectorAll<HTMLElement>('.conversation-head [aria-keyshortcuts]:enabled')].map(
    (control) => ({
      label: (control.title || (control.ariaLabel ?? control.textContent)).replace(/ \(.\)$/, ''),
      key: control.getAttribute('aria-keyshortcuts')!,
      press: () => control.click(),
    }),
  );
}

/**
 * Does what the control of the open conversation with this key does (`aria-keyshortcuts`). Returns
 * whether there is one.
 */
export function pressControl(key: string): boolean {
  const controls = '.conversation-head, .conversation > .composer';
  const found = document.querySelector<HTMLElement>(`:is(${controls}) [aria-keyshortcuts="${key}"]:enabled`);
  if (found instanceof HTMLTextAreaElement) found.focus();
  else found?.click();
  return found !== null;
}
