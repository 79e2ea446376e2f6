import { autoUpdate, computePosition, flip, offset, type Placement, shift } from '@floating-ui/dom';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { useEvent } from '../hooks/use-event.ts';
import { pressedKey } from '../typing/pressed-key.ts';

export interface PopoverProps {
  /** The element that it stands beside. */
  readonly anchor: HTMLElement;
  /** Called by Escape, and by a click or a focus outside. */
  readonly onClose: () => void;
  readonly label: string;
  readonly role?: 'dialog' | 'menu' | 'group';
  readonly placement?: Placement;
  /** Whether the focus moves into it and back. A list of completions leaves it in its field. */
  readonly takesFocus?: boolean;
  readonly class?: string;
  /** For `aria-controls` of its anchor. */
  readonly id?: string;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
  readonly children: ComponentChildren;
}

/** A small part of the page that stands above it, beside an anchor, until it is closed. */
export function Popover({ anchor, onClose, label, children, ...options }: PopoverProps) {
  const {
    role = 'dialog',
    placement = 'bottom-start',
    takesFocus = true,
    id,
    class: more = '',
    onKeyDown,
  } = options;
  const box = useRef<HTMLDivElement>(null);
  const close = useEvent(onClose);
  useLayoutEffect(() => {
    const element = box.current!;
    element.showPopover();
    return autoUpdate(anchor, element, async () => {
      const middleware = [offset(4), flip(), shift({ padding: 8 })];
      const { x, y } = await computePosition(anchor, element, { placement, strategy: 'fixed', middleware });
      Object.assign(element.style, { left: `${x}px`, top: `${y}px` });
    });
  }, [anchor, placement]);
  useEffect(() => {
    if (!takesFocus) return;
    const element = box.current!;
    const before = document.activeElement;
    const first = element.querySelector<HTMLElement>(
      '[autofocus], [tabindex="0"], button, input, textarea, a',
    );
    (first ?? element).focus();
    return () => {
      const isLost = document.activeElement === document.body || element.contains(document.activeElement);
      if (isLost && before instanceof HTMLElement) before.focus();
    };
  }, [takesFocus]);
  // This runs before the next key arrives, which may be Escape.
  useLayoutEffect(() => {
    const isOutside = (target: EventTarget | null) =>
      target instanceof Node && box.current?.contains(target) === false && !anchor.contains(target);
    const outside = ({ target }: Event) => {
      if (isOutside(target)) close();
    };
    const key = (event: KeyboardEvent) => {
      if (pressedKey(event) !== 'Escape') return;
      event.stopPropagation();
      event.preventDefault();
      close();
    };
    document.addEventListener('pointerdown', outside, true);
    document.addEventListener('focusin', outside, true);
    document.addEventListener('keydown', key, true);
    return () => {
      document.removeEventListener('pointerdown', outside, true);
      document.removeEventListener('focusin', outside, true);
      document.removeEventListener('keydown', key, true);
    };
  }, [anchor, close]);
  const given = { role, 'aria-label': label, onKeyDown, ...(id !== undefined && { id }) };
  return (
    <div ref={box} {...given} popover="manual" tabIndex={-1} class={`popover ${more}`}>
      {children}
    </div>
  );
}
