import type { ComponentProps, RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { pressedKey } from './pressed-key.ts';

type AreaProps = Omit<ComponentProps<'textarea'>, 'value' | 'onInput' | 'onKeyDown' | 'ref'>;

export type TextFieldProps = AreaProps & {
  readonly label: string;
  readonly value: string;
  readonly onText: (text: string, field: HTMLTextAreaElement) => void;
  /** Called by Enter. Shift+Enter begins a line. Without it, Enter begins a line too. */
  readonly onEnter?: () => void;
  /** Sees keys first, except those of input methods. `preventDefault` takes the key. */
  readonly onKey?: (event: KeyboardEvent) => void;
  readonly field?: RefObject<HTMLTextAreaElement | null>;
};

/** A field of several lines, as high as its text within the limits of the style sheet. */
export function TextField({ label, value, onText, onEnter, onKey, field, ...rest }: TextFieldProps) {
  const own = useRef<HTMLTextAreaElement>(null);
  const area = field ?? own;
  useLayoutEffect(() => fit(area.current!));
  const key = (event: KeyboardEvent) => {
    const pressed = pressedKey(event);
    if (pressed !== '') onKey?.(event);
    if (event.defaultPrevented || onEnter === undefined) return;
    if (pressed !== 'Enter' || event.shiftKey || event.altKey) return;
    event.preventDefault();
    onEnter();
  };
  return (
    <textarea
      rows={1}
      {...rest}
      ref={area}
      class={`text-field ${rest.class ?? ''}`}
      aria-label={label}
      value={value}
      onInput={({ currentTarget }) => onText(currentTarget.value, currentTarget)}
      onKeyDown={key}
    />
  );
}

function fit(area: HTMLTextAreaElement): void {
  area.style.height = 'auto';
  const { scrollHeight, offsetHeight, clientHeight } = area;
  area.style.height = `${scrollHeight + offsetHeight - clientHeight}px`;
}
