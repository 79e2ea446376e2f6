import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

/**
 * Makes a list of messages one stop of the Tab key: the links and buttons in a message are reached
 * from it by the arrow keys (move-focus.ts). Forms, menus and dialogs in a row keep theirs.
 */
export function useOneTabStop(list: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = list.current!;
    const takeOut = (root: Element) => {
      for (const one of [root, ...root.querySelectorAll<HTMLElement>(INNER)]) {
        const isInner = one instanceof HTMLElement && one.matches(INNER) && one.closest(WHOLE) === null;
        if (isInner && one.tabIndex !== -1) one.tabIndex = -1;
      }
    };
    takeOut(element);
    const observer = new MutationObserver((changes) => {
      for (const { addedNodes } of changes)
        for (const node of addedNodes) if (node instanceof Element) takeOut(node);
    });
    observer.observe(element, { childList: true, subtree: true });
    return () => observer.disconnect();
  }, [list]);
}

/** Elements in a message that may have the focus. */
export const INNER = '[data-message] :is(a[href], button, summary, audio, video, [tabindex])';

/** Parts of a row that the Tab key goes through as elsewhere. */
export const WHOLE = 'form, dialog, [popover]';
