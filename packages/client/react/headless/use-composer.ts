import { MESSAGE_LIMITS } from '@parley/protocol/resources/message-limits.ts';
import {
  type ChangeEvent,
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type RefObject,
  type SyntheticEvent,
  useEffect,
  useRef,
  useState,
} from 'react';
import type { TimelineMessage } from '../../conversation/view/timeline.ts';
import { lost, type ParleyError } from '../../errors/parley-error.ts';
import { hasFiles, pastedFiles } from '../../writing/pasted.ts';
import type { ChosenFile, UploadRules } from '../../writing/uploads.ts';
import { useConversation } from '../hooks.ts';
import { useBeforePaint } from './before-paint.ts';
import { useEvent } from './use-event.ts';
import { type Draft, type Mentionable, useMentions } from './use-mentions.ts';
import { useUploads } from './use-uploads.ts';

/** The options of a composer. */
export interface ComposerOptions {
  /** What is written is a reply to this message. */
  readonly threadId?: string | null | undefined;
  /** A message of the caller that is edited instead; the draft is there again afterwards. */
  readonly editing?: TimelineMessage | null | undefined;
  /** Called when the edit was sent or given up. */
  readonly onEdited?: (() => void) | undefined;
}

/** The properties of the field, a `textarea`. */
export interface ComposerField {
  /** Keeps the caret behind a completed name. */
  readonly ref: RefObject<HTMLTextAreaElement>;
  /** The text. */
  readonly value: string;
  /** Says that names are suggested. */
  readonly 'aria-autocomplete': 'list';
  /** The list of suggestions, while there is one. */
  readonly 'aria-controls': string | undefined;
  /** The suggestion that Enter chooses. */
  readonly 'aria-activedescendant': string | undefined;
  /** Takes the text, and declares typing. */
  readonly onChange: (event: ChangeEvent<HTMLTextAreaElement>) => void;
  /** Takes the place of the caret. */
  readonly onSelect: (event: SyntheticEvent<HTMLTextAreaElement>) => void;
  /** Enter sends, Escape gives an edit up; both and arrows belong to an open list. */
  readonly onKeyDown: (event: KeyboardEvent<HTMLTextAreaElement>) => void;
  /** Adds pasted files. */
  readonly onPaste: (event: ClipboardEvent<HTMLTextAreaElement>) => void;
  /** Keys belong to the input method from here on. */
  readonly onCompositionStart: () => void;
  /** Keys belong to the composer again. */
  readonly onCompositionEnd: () => void;
  /** Closes the suggestions. */
  readonly onBlur: () => void;
}

/** The properties of the element that takes dropped files. */
export interface DropTarget {
  /** Takes the drag where it has files. */
  readonly onDragOver: (event: DragEvent<HTMLElement>) => void;
  /** Notes that the files are held elsewhere. */
  readonly onDragLeave: (event: DragEvent<HTMLElement>) => void;
  /** Adds the files. */
  readonly onDrop: (event: DragEvent<HTMLElement>) => void;
}

/** A composer as a component draws it. */
export interface ComposerState {
  /** The text, of the draft or of the message that is edited. */
  readonly text: string;
  /** Replaces the text. */
  readonly setText: (text: string) => void;
  /** The chosen files, which are uploaded at once. */
  readonly files: readonly ChosenFile[];
  /** Adds files. Returns how many were left out, because a message cannot have more. */
  readonly addFiles: (files: Iterable<File>) => number;
  /** Takes a file away, and ends its upload. */
  readonly removeFile: (key: number) => void;
  /** Uploads a failed file again. */
  readonly retryFile: (key: number) => void;
  /** The people whose names begin like the word behind the `@` at the caret. */
  readonly suggestions: readonly Mentionable[];
  /** The index of the suggestion that Enter chooses. */
  readonly active: number;
  /** The id of the list of suggestions, whose options have `optionId` of their index. */
  readonly listId: string;
  /** Returns the id of an option. */
  readonly optionId: (index: number) => string;
  /** Completes the name of a person, whom the message then mentions. */
  readonly choose: (actor: Mentionable) => void;
  /** Whether there is something to send, and every file is uploaded. */
  readonly canSend: boolean;
  /** Sends the message, which the timeline shows at once, or the edit. */
  readonly send: () => void;
  /** Gives an edit up. */
  readonly cancel: () => void;
  /**
   * Why the last edit was refused; null otherwise. A message that was refused is in the timeline.
   */
  readonly error: ParleyError | null;
  /** Whether files are being held above the element of `drop`. */
  readonly isDropping: boolean;
  /** The properties of the field. */
  readonly field: ComposerField;
  /** The properties of the element that takes dropped files. */
  readonly drop: DropTarget;
}

/**
 * Holds what a person writes in a conversation: the text, its mentions and its files. Enter sends,
 * except while an input method composes a word, and with Shift. Typing is declared.
 */
export function useComposer(
  conversationId: string | null,
  { threadId = null, editing = null, onEdited }: ComposerOptions = {},
): ComposerState {
  const { live, conversation } = useConversation(conversationId);
  const [drafts, setDrafts] = useState<Readonly<Record<string, Draft>>>({});
  // Each place has a draft of its own while the composer is there.
  const place = [conversationId, threadId, editing?.id].join(' ');
  const draft = drafts[place] ?? { text: editing?.body ?? '', caret: 0, mentions: [] };
  const { text } = draft;
  const [error, setError] = useState<ParleyError | null>(null);
  const { uploads, files } = useUploads(UPLOADS);
  const field = useRef<HTMLTextAreaElement>(null);
  const setDraft = (next: Draft | undefined) =>
    setDrafts(({ [place]: _, ...others }) => (next === undefined ? others : { ...others, [place]: next }));

  const change = useEvent((next: string, caret: number = next.length) => {
    setDraft({ ...draft, text: next, caret });
    if (editing === null) live?.typing(next !== '');
  });
  const caretAfter = useRef<number | null>(null);
  const mentions = useMentions({ draft, participants: conversation?.participants ?? null }, (next) => {
    setDraft(next);
    caretAfter.current = next.caret;
  });
  useBeforePaint(() => {
    const caret = caretAfter.current;
    caretAfter.current = null;
    if (caret === null) return;
    field.current?.focus();
    field.current?.setSelectionRange(caret, caret);
  });
  // Who begins an edit goes on writing.
  const editedId = editing?.id;
  useEffect(() => {
    if (editedId != null) field.current?.focus();
  }, [editedId]);
  useEffect(() => () => uploads.clear(), [uploads, conversationId, threadId]);

  const attachments = files.flatMap(({ attachment }) => attachment ?? []);
  const isUploaded = attachments.length === files.length;
  const canSend =
    live !== undefined && (text.trim() !== '' || (editing === null && files.length > 0)) && isUploaded;
  const end = useEvent(() => {
    setDraft(undefined);
    onEdited?.();
  });
  const send = useEvent(() => {
    if (live === undefined || !canSend) return;
    setError(null);
    const ids = mentions.idsIn(text);
    const body = text.trim();
    if (editing?.id != null) {
      live.edit(editing.id, { body, mentions: ids }).catch((cause) => setError(lost(cause)));
      end();
      return;
    }
    setDraft(undefined);
    uploads.clear();
    live.typing(false);
    // A message that is refused is shown as failed.
    const sent = live.send({
      body,
      ...(attachments.length > 0 && { attachments }),
      ...(ids.length > 0 && { mentions: ids }),
      ...(threadId !== null && { reply_to_message_id: threadId }),
    });
    sent.catch(() => {});
  });
  const cancel = useEvent(() => {
    if (editing !== null) end();
  });
  const addFiles = useEvent((chosen: Iterable<File>) =>
    live === undefined || editing !== null ? 0 : uploads.add([...chosen], live.upload),
  );

  // Safari reports the Enter that accepts a word only after the composition, without any mark.
  const isComposing = useRef(false);
  const [isDropping, setDropping] = useState(false);
  const pressed = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (isComposing.current || event.nativeEvent.isComposing || event.keyCode === INPUT_METHOD) return;
    if (mentions.press(event.key)) event.preventDefault();
    else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      send();
    } else if (event.key === 'Escape') cancel();
  };
  return {
    text,
    setText: change,
    files,
    addFiles,
    removeFile: (key) => uploads.remove(key),
    retryFile: (key) => live && uploads.retry(key, live.upload),
    suggestions: mentions.suggestions,
    active: mentions.active,
    listId: mentions.listId,
    optionId: mentions.optionId,
    choose: mentions.choose,
    canSend,
    send,
    cancel,
    error,
    isDropping,
    field: {
      ref: field,
      value: text,
      'aria-autocomplete': 'list',
      'aria-controls': mentions.isOpen ? mentions.listId : undefined,
      'aria-activedescendant': mentions.isOpen ? mentions.optionId(mentions.active) : undefined,
      onChange: ({ currentTarget: { value, selectionEnd } }) => change(value, selectionEnd),
      onSelect: ({ currentTarget: { selectionEnd } }) => {
        if (selectionEnd !== draft.caret) setDraft({ ...draft, caret: selectionEnd });
      },
      onKeyDown: pressed,
      onPaste: (event) => {
        const pasted = pastedFiles(event.clipboardData);
        if (pasted.length === 0) return;
        event.preventDefault();
        addFiles(pasted);
      },
      onCompositionStart: () => {
        isComposing.current = true;
      },
      onCompositionEnd: () => {
        setTimeout(() => {
          isComposing.current = false;
        }, 0);
      },
      onBlur: mentions.close,
    },
    drop: {
      onDragOver: (event) => {
        if (!hasFiles(event.dataTransfer)) return;
        event.preventDefault();
        setDropping(true);
      },
      onDragLeave: ({ relatedTarget, currentTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) setDropping(false);
      },
      onDrop: (event) => {
        setDropping(false);
        if (!hasFiles(event.dataTransfer)) return;
        event.preventDefault();
        addFiles(event.dataTransfer.files);
      },
    },
  };
}

const UPLOADS: UploadRules = {
  most: MESSAGE_LIMITS.attachments,
  refusalOf: () => undefined,
  problemOf: (cause) => lost(cause).message,
};
/** The code of keys that an input method handles. */
const INPUT_METHOD = 229;
