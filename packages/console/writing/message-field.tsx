import { SuggestionPopover } from '@parley/ui/choices/suggestions.tsx';
import { insertText } from '@parley/ui/typing/insert-text.ts';
import { TextField } from '@parley/ui/typing/text-field.tsx';
import type { RefObject } from 'preact';
import type { Mention } from '../session/kept-writing.ts';
import { texts } from '../texts/texts.ts';
import { type Format, formatOf, formatted } from './formatting.ts';
import { useEmojiList } from './use-emoji-list.tsx';
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
  /** The key that leads to the field (`aria-keyshortcuts`). */
  readonly shortcut?: string;
  readonly written: Written;
  /** Called with the changed parts. */
  readonly onWritten: (change: Partial<Written>) => void;
  /** Called by Enter; Shift+Enter begins a line. */
  readonly onEnter: () => void;
  readonly onKey?: (event: KeyboardEvent) => void;
  readonly onPaste?: (event: ClipboardEvent) => void;
  readonly field: RefObject<HTMLTextAreaElement | null>;
}

/** The field for the text of a message: an `@` completes names, a `:` emoji; shortcuts write Markdown. */
export function MessageField(props: MessageFieldProps) {
  const { conversationId, label, placeholder, shortcut, written, onWritten, onEnter, onKey, onPaste, field } =
    props;
  const people = useMentionList(conversationId, ({ id, name, type }, asked) => {
    onWritten({ mentions: [...written.mentions.filter((one) => one.id !== id), { id, name, type }] });
    insertText(field.current!, `@${name} `, asked.from, asked.from + asked.words.length + 1);
  });
  const emoji = useEmojiList((one, { from, words }) => {
    insertText(field.current!, one, from, from + words.length + 1);
  });
  const list = emoji.isOpen ? emoji : people;
  const { isOpen } = list;
  const close = () => {
    people.close();
    emoji.close();
  };
  const key = (event: KeyboardEvent) => {
    list.suggestions.press(event);
    if (event.defaultPrevented) return;
    const format = formatOf(event);
    if (format === undefined) onKey?.(event);
    else {
      event.preventDefault();
      applyFormat(field.current!, format);
    }
  };
  // A field of several lines may have suggestions, and is no combobox by the rules of ARIA.
  const { role, 'aria-expanded': _, ...completed } = list.suggestions.field;
  return (
    <>
      <TextField
        label={label}
        field={field}
        onEnter={onEnter}
        {...(placeholder !== undefined && { placeholder })}
        {...(shortcut !== undefined && { 'aria-keyshortcuts': shortcut })}
        {...(onPaste !== undefined && { onPaste })}
        {...(isOpen && completed)}
        class="message-field"
        value={written.text}
        onText={(text, area) => {
          onWritten({ text });
          people.look(text, area.selectionStart);
          emoji.look(text, area.selectionStart);
        }}
        onKey={key}
        onClick={close}
      />
      {people.isOpen && !emoji.isOpen && (
        <SuggestionPopover
          of={people.suggestions}
          anchor={field.current!}
          onClose={close}
          label={texts.writing.people}
          placement="top-start"
        />
      )}
      {emoji.isOpen && (
        <SuggestionPopover
          of={emoji.suggestions}
          anchor={field.current!}
          onClose={close}
          label={texts.writing.emoji}
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
