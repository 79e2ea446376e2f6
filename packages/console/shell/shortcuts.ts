import { useKeys } from '@parley/ui/hooks/use-keys.ts';
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
      { keys: ['Alt', '↓'], does: 'Open the next conversation' },
      { keys: ['Alt', '↑'], does: 'Open the previous conversation' },
      { keys: ['F6'], does: 'Go to the next part of the page' },
      { keys: ['N'], does: 'Begin a conversation' },
      { keys: ['/'], does: 'Search messages' },
      { keys: ['?'], does: 'Show this list' },
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
      { keys: ['E'], does: 'Archive or unarchive' },
      { keys: ['A'], does: 'Assign a case' },
      { keys: ['Shift', 'F10'], does: 'Show all actions' },
    ],
  },
  {
    title: 'On a message',
    shortcuts: [
      { keys: ['↑'], does: 'Go to the message above' },
      { keys: ['↓'], does: 'Go to the message below' },
      { keys: ['+'], does: 'React' },
      { keys: ['R'], does: 'Reply in the thread' },
      { keys: ['E'], does: 'Edit' },
      { keys: ['P'], does: 'Pin or unpin' },
      { keys: ['F'], does: 'Forward' },
      { keys: ['C'], does: 'Copy the link' },
      { keys: ['U'], does: 'Mark unread from here' },
      { keys: ['Delete'], does: 'Delete' },
      { keys: ['M'], does: 'Show all actions' },
    ],
  },
];

export type GlobalKey = 'find' | 'new' | 'search' | 'help' | 'nextPart' | 'previousPart';

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
  if (key === 'F6') return shiftKey ? 'previousPart' : 'nextPart';
  return isInText ? undefined : PLAIN[key];
}

const PLAIN: Readonly<Record<string, GlobalKey>> = { n: 'new', '/': 'search', '?': 'help' };

/**
 * Elements in which writing keys are for a text or a choice. Somebody who types at the radio or the
 * button of a form has its text in mind.
 */
const FOR_TEXT = 'form, fieldset, label, input, textarea, select, [role="menu"], [role="listbox"]';

function isForText(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.closest(FOR_TEXT) !== null);
}
