import { X } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { IconButton } from '../elements/button.tsx';
import { uiTexts } from '../texts/ui-texts.ts';

export interface DialogProps {
  readonly title: string;
  /** Called by Escape, the close button, and a click beside it. */
  readonly onClose: () => void;
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** A modal dialog. The focus returns to its earlier place when it closes. */
export function Dialog({ title, onClose, class: more = '', children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // This runs before the next key arrives, which is meant for the dialog.
  useLayoutEffect(() => {
    const element = dialog.current!;
    const before = document.activeElement;
    element.showModal();
    // Otherwise the focus begins with the close button.
    if (element.contains(document.activeElement) && document.activeElement?.closest('.dialog-head'))
      element.querySelector<HTMLElement>(FIRST)?.focus();
    return () => {
      element.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${more}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div class="dialog-box">
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          <IconButton icon={X} label={uiTexts.overlays.close} onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}

/** The fields and buttons of the content. */
const FIRST =
  '.dialog-box > :not(.dialog-head):is(input, textarea, select, button:enabled), ' +
  '.dialog-box > :not(.dialog-head) :is(input, textarea, select, button:enabled)';
