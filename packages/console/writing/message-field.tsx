import { SuggestionPopover } from '@parley/ui/choices/suggestions.tsx';
import { insertText } from '@parley/ui/typing/insert-text.ts';
import { TextField } from '@parley/ui/typing/text-field.tsx';
import type { RefObject } from 'preact';
import type { Mention } from '../session/kept-writing.ts';
import { type Format, formatOf, formatted } from './formatting.ts';
import { useMentionList } from './use-mention-list.tsx';

/** A text with the people chosen for it. */
export interface Written {
  readonly text: string;
  readonly mentions: readonly Mention[];
}

export interface MessageFieldProps {
  readonly conversationId: string;
  readonly label: string;
  readonly placeholder?: string;
  readonly written: Written;
  /** Called with the changed parts. */
  readonly onWritten: (change: Partial<Written>) => void;
  /** Called by Enter; Shift+Enter begins a line. */
  readonly onEnter: () => void;
  readonly onKey?: (event: KeyboardEvent) => void;
  readonly onPaste?: (event: ClipboardEvent) => void;
  readonly field: RefObject<HTMLTextAreaElement | null>;
}

/** The field for the text of a message: an `@` completes names, shortcuts write Markdown. */
export function MessageField(props: MessageFieldProps) {
  const { conversationId, label, placeholder, written, onWritten, onEnter, onKey, onPaste, field } = props;
  const list = useMentionList(conversationId, ({ id, name, type }, asked) => {
    onWritten({ mentions: [...written.mentions.filter((one) => one.id !== id), { id, name, type }] });
    insertText(field.current!, `@${name} `, asked.from, asked.from + asked.words.length + 1);
  });
  const { suggestions, isOpen } = list;
  const key = (event: KeyboardEvent) => {
    suggestions.press(event);
    if (event.defaultPrevented) return;
    const format = formatOf(event);
    if (format === undefined) onKey?.(event);
    else {
      event.preventDefault();
      applyFormat(field.current!, format);
    }
  };
  return (
    <>
      <TextField
        label={label}
        field={field}
        onEnter={onEnter}
        {...(placeholder !== undefined && { placeholder })}
        {...(onPaste !== undefined && { onPaste })}
        {...(isOpen && suggestions.field)}
        class="message-field"
        value={written.text}
        onText={(text, area) => {
          onWritten({ text });
          list.look(text, area.selectionStart);
        }}
        onKey={key}
        onClick={list.close}
      />
      {isOpen && (
        <SuggestionPopover
          of={suggestions}
          anchor={field.current!}
          onClose={list.close}
          label="People"
          placement="top-start"
        />
      )}
    </>
  );
}

/** Formats the selection of a field. */
export function applyFormat(field: HTMLTextAreaElement, format: Format): void {
  const { value: text, selectionStart: start, selectionEnd: end } = field;
  const change = formatted({ text, start, end }, format);
  insertText(field, change.insert, change.from, change.to);
  field.setSelectionRange(change.start, change.end);
}
