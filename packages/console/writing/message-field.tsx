import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { Popover } from '@parley/ui/overlays/popover.tsx';
import { insertText } from '@parley/ui/typing/insert-text.ts';
import { TextField } from '@parley/ui/typing/text-field.tsx';
import type { RefObject } from 'preact';
import type { Mention } from '../session/kept-writing.ts';
import { type Format, formatOf, formatted } from './formatting.ts';
import type { Candidate } from './mentions.ts';
import { useMentionList } from './use-mention-list.ts';

/** A text with the people that were chosen for it. */
export interface Written {
  readonly text: string;
  readonly mentions: readonly Mention[];
}

export interface MessageFieldProps {
  readonly conversationId: string;
  readonly label: string;
  readonly placeholder?: string;
  readonly written: Written;
  /** Called with what has changed. */
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
  const list = useMentionList(conversationId);
  const isOpen = list.found.length > 0;
  const choose = ({ id, name, type }: Candidate) => {
    const { asked } = list;
    const area = field.current!;
    if (asked === null) return;
    onWritten({ mentions: [...written.mentions.filter((one) => one.id !== id), { id, name, type }] });
    insertText(area, `@${name} `, asked.from, asked.from + asked.words.length + 1);
    list.close();
  };
  const key = (event: KeyboardEvent) => {
    list.key(event, choose);
    if (event.defaultPrevented) return;
    const format = formatOf(event);
    if (format === undefined) onKey?.(event);
    else {
      event.preventDefault();
      applyFormat(field.current!, format);
    }
  };
  const combobox = {
    role: 'combobox',
    'aria-expanded': true,
    'aria-controls': list.id,
    'aria-autocomplete': 'list',
    'aria-activedescendant': `${list.id}-${list.active}`,
  } as const;
  return (
    <>
      <TextField
        {...{ label, field, onEnter }}
        {...(placeholder !== undefined && { placeholder })}
        {...(onPaste !== undefined && { onPaste })}
        {...(isOpen && combobox)}
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
        <Popover
          {...{ anchor: field.current!, id: list.id, onClose: list.close }}
          {...{ role: 'listbox', label: 'People', takesFocus: false }}
          placement="top-start"
          class="mention-list"
        >
          {list.found.map((candidate, index) => (
            <Option
              key={candidate.id}
              {...{ candidate, onChoose: choose }}
              id={`${list.id}-${index}`}
              isActive={index === list.active}
            />
          ))}
        </Popover>
      )}
    </>
  );
}

interface OptionProps {
  readonly id: string;
  readonly candidate: Candidate;
  readonly isActive: boolean;
  readonly onChoose: (candidate: Candidate) => void;
}

function Option({ id, candidate, isActive, onChoose }: OptionProps) {
  const { name, detail, avatarUrl, isMember } = candidate;
  return (
    // The field has the focus and the keys.
    <button
      {...{ id, role: 'option', 'aria-selected': isActive }}
      type="button"
      tabIndex={-1}
      class="mention-option"
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => onChoose(candidate)}
    >
      <Avatar name={name} url={avatarUrl} size={24} />
      <span>{name}</span>
      <small>{isMember ? detail : 'not in this conversation'}</small>
    </button>
  );
}

/** Formats what is selected in a field. */
export function applyFormat(field: HTMLTextAreaElement, format: Format): void {
  const { value: text, selectionStart: start, selectionEnd: end } = field;
  const change = formatted({ text, start, end }, format);
  insertText(field, change.insert, change.from, change.to);
  field.setSelectionRange(change.start, change.end);
}
