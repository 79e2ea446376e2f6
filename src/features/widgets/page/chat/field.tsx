import { SendHorizontal } from 'lucide';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { IconButton } from '../../../../platform/ui/button.tsx';
import { Composition } from '../../../../platform/ui/composition.ts';
import type { WidgetTexts } from '../texts.ts';

export interface FieldProps {
  readonly texts: WidgetTexts;
  /** Returns whether the text was taken; it stays in the field otherwise. */
  readonly onSend: (body: string) => boolean | Promise<boolean>;
  /** Called at each keystroke. */
  readonly onType?: (isTyping: boolean) => void;
  readonly isDisabled?: boolean;
}

/** Where a visitor writes. Enter sends, Shift+Enter begins a line. */
export function Field({ texts, onSend, onType, isDisabled = false }: FieldProps) {
  const [text, setText] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const composition = useMemo(() => new Composition(), []);
  useEffect(() => {
    const { style } = field.current!;
    style.height = 'auto';
    style.height = text === '' ? '' : `${Math.min(field.current!.scrollHeight, 160)}px`;
  }, [text]);
  const send = async () => {
    const body = text.trim();
    if (body === '' || isDisabled) return;
    if (await onSend(body)) setText('');
    field.current?.focus();
  };
  return (
    <form
      class="field"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        ref={field}
        rows={1}
        dir="auto"
        maxLength={10_000}
        aria-label={texts.write}
        placeholder={texts.write}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          onType?.(currentTarget.value !== '');
        }}
        onCompositionStart={composition.begin}
        onCompositionEnd={composition.end}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || composition.owns(event)) return;
          event.preventDefault();
          void send();
        }}
      />
      <IconButton
        type="submit"
        icon={SendHorizontal}
        label={texts.send}
        disabled={text.trim() === '' || isDisabled}
      />
    </form>
  );
}
