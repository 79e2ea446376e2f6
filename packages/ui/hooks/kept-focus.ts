import { useEffect } from 'preact/hooks';

/**
 * Keeps the focus in the page when its element is removed, hidden or disabled by the act that it
 * was pressed for. It goes back to the element once that can have it again, else to the nearest
 * part around it with `data-focus`: to the first element of the part's selector, or to the part
 * itself. A click beside everything takes the focus away as usual.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    /** The focused element, and all around it, which are still known once it is removed. */
    let path: readonly Element[] = [];
    let isWaiting = false;
    const hold = (event: Event) => {
      path = event.composedPath().filter((one) => one instanceof Element);
    };
    const press = (event: Event) => {
      const isFocusable = event.target instanceof Element && event.target.closest(FOCUSABLE) !== null;
      if (isFocusable) hold(event);
      else path = [];
    };
    const keep = () => {
      isWaiting = false;
      if (path.length === 0 || document.activeElement !== document.body) return;
      if (document.querySelector('dialog[open]') !== null) return;
      const wanted = path.find((one) => one instanceof HTMLElement && one.matches(FOCUSABLE));
      if (giveFocus(wanted)) return;
      // An act that is under way may give the element back.
      if (wanted?.isConnected && wanted.matches(':disabled')) return;
      const around = path.filter((one) => one.isConnected && one.matches('[data-focus]'));
      around.some((part) => {
        const { focus: inner = '' } = (part as HTMLElement).dataset;
        const candidates = inner === '' ? [part] : [...part.querySelectorAll(inner), part];
        return candidates.some(giveFocus);
      });
    };
    const keepSoon = () => {
      if (isWaiting || path.length === 0) return;
      isWaiting = true;
      // An element that is disabled or hidden loses the focus only when the page is drawn.
      afterFrame(() => {
        isWaiting = document.activeElement === document.body;
        if (isWaiting) afterEffects(keep);
      });
    };
    const observer = new MutationObserver(keepSoon);
    observer.observe(document.body, {
      childList: true,
      subtree: true,
      attributeFilter: ['disabled', 'hidden', 'open'],
    });
    document.addEventListener('focusin', hold);
    document.addEventListener('pointerdown', press, true);
    return () => {
      observer.disconnect();
      document.removeEventListener('focusin', hold);
      document.removeEventListener('pointerdown', press, true);
    };
  }, []);
}

/** Menus, dialogs and lists give the focus back themselves, in effects of the next frame. */
function afterEffects(work: () => void): void {
  afterFrame(() => afterFrame(work));
}

function afterFrame(work: () => void): void {
  requestAnimationFrame(() => setTimeout(work));
}

/** Gives the focus to an element. Returns whether it could have it. */
export function giveFocus(element: Element | null | undefined): boolean {
  if (!(element instanceof HTMLElement) || !element.isConnected) return false;
  // A field would bring up the keyboard of a touch screen.
  if (element.matches('textarea') && matchMedia('(pointer: coarse)').matches) return false;
  element.focus();
  return document.activeElement === element;
}

const FOCUSABLE = 'a[href], button, input, textarea, select, summary, [tabindex]';
