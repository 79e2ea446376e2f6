import { useKeys } from '@parley/ui/hooks/use-keys.ts';
import { isForText } from '@parley/ui/typing/for-text.ts';
import { type KeyPress, pressedKey } from '@parley/ui/typing/pressed-key.ts';

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
    title: 'Everywhere',
    shortcuts: [
      { keys: ['Mod', 'K'], does: 'Find a conversation, a person or a place' },
      { keys: ['J'], does: 'Open the next conversation, as Alt ↓ does also in a text' },
      { keys: ['K'], does: 'Open the previous conversation, as Alt ↑ does also in a text' },
      { keys: ['F6'], does: 'Go to the next part of the page, with Shift to the previous one' },
      { keys: ['N'], does: 'Write a note in an open case, else begin a conversation' },
      { keys: ['Z'], does: 'Undo what the notice says, while it is shown' },
      { keys: ['/'], does: 'Search messages' },
      { keys: ['?'], does: 'Show this list' },
    ],
  },
  {
    title: 'In an open conversation',
    shortcuts: [
      { keys: ['R'], does: 'Write a message; in a case to the customer' },
      { keys: ['E'], does: 'Resolve or reopen a case, archive any other conversation' },
      { keys: ['S'], does: 'Snooze, or end the snooze' },
      { keys: ['A'], does: 'Assign a case' },
    ],
  },
  {
    title: 'In the list of conversations',
    shortcuts: [
      { keys: ['J'], does: 'Go down, as ↓ does' },
      { keys: ['K'], does: 'Go up, as ↑ does' },
      { keys: ['Enter'], does: 'Open the conversation' },
      { keys: ['U'], does: 'Mark as read or unread' },
      { keys: ['S'], does: 'Snooze' },
      { keys: ['M'], does: 'Mute or unmute' },
      { keys: ['E'], does: 'Resolve or reopen a case, archive or unarchive another' },
      { keys: ['A'], does: 'Assign a case' },
      { keys: ['X'], does: 'Select the conversation; with Shift all since the last one' },
      { keys: ['Shift', 'F10'], does: 'Show all actions' },
    ],
  },
  {
    title: 'On a message',
    shortcuts: [
      { keys: ['↑'], does: 'Go to the message above' },
      { keys: ['↓'], does: 'Go to the message below' },
      { keys: ['+'], does: 'React' },
      { keys: ['→'], does: 'Go through the links and buttons in it, with ← back' },
      { keys: ['T'], does: 'Reply in the thread' },
      { keys: ['W'], does: 'Edit' },
      { keys: ['P'], does: 'Pin or unpin' },
      { keys: ['F'], does: 'Forward' },
      { keys: ['C'], does: 'Copy the link' },
      { keys: ['U'], does: 'Mark unread from here' },
      { keys: ['Delete'], does: 'Delete' },
      { keys: ['M'], does: 'Show all actions' },
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
