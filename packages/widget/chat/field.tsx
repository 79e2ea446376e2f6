import { useUploads } from '@parley/client/react/headless/use-uploads.ts';
import { pastedFiles } from '@parley/client/writing/pasted.ts';
import type { Upload } from '@parley/client/writing/uploads.ts';
import type { AttachmentInput } from '@parley/protocol/resources/chat-message.ts';
import { IconButton } from '@parley/ui/elements/button.tsx';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useFileDrop } from '@parley/ui/files/file-drop.ts';
import { FilesButton } from '@parley/ui/files/files-button.tsx';
import { UploadList } from '@parley/ui/files/upload-list.tsx';
import { TextField } from '@parley/ui/typing/text-field.tsx';
import { SendHorizontal } from 'lucide';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { WidgetTexts } from '../texts/widget-texts.ts';
import type { KeptWriting } from './kept-writing.ts';
import { uploadListTexts, uploadRules } from './upload-texts.ts';

/** The input of a visitor: a text, files, or both. */
export interface WrittenMessage {
  readonly body?: string;
  readonly attachments?: AttachmentInput[];
}

export interface FieldProps {
  readonly texts: WidgetTexts;
  /** Returns whether the message was taken; it stays in the field otherwise. */
  readonly onSend: (message: WrittenMessage) => boolean | Promise<boolean>;
  readonly upload: Upload;
  readonly writing: KeptWriting;
  /** The place in `writing` of this field's text. */
  readonly place: string;
  /** Called at each keystroke. */
  readonly onType?: (isTyping: boolean) => void;
  readonly isDisabled?: boolean;
}

/** The field of a visitor. Enter sends, Shift+Enter begins a line. */
export function Field(props: FieldProps) {
  const { texts, onSend, upload, writing, place, onType, isDisabled = false } = props;
  const [text, showText] = useState(() => writing.get(place));
  const setText = (written: string) => {
    showText(written);
    writing.set(place, written);
  };
  const [problem, say] = useState('');
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    // The panel was opened before the field was there, or a case was chosen from the list.
    if (document.hasFocus() && document.activeElement === document.body) field.current!.focus();
  }, []);
  const { uploads, files } = useUploads(uploadRules(texts));
  const add = (added: readonly File[]) => {
    if (added.length === 0 || isDisabled) return;
    say(uploads.add(added, upload) === 0 ? '' : texts.tooManyFiles);
    field.current?.focus();
  };
  const isOver = useFileDrop(form, !isDisabled, add);
  const isEmpty = text.trim() === '' && files.length === 0;
  const send = async () => {
    if (isEmpty || isDisabled) return;
    const attachments = files.flatMap(({ attachment }) => attachment ?? []);
    if (attachments.length < files.length) {
      const isFailed = files.some(({ problem }) => problem !== undefined);
      say(isFailed ? texts.filesFailed : texts.filesUnderWay);
      return;
    }
    say('');
    const body = text.trim();
    const message = { ...(body !== '' && { body }), ...(attachments.length > 0 && { attachments }) };
    if (await onSend(message)) {
      setText('');
      uploads.clear();
    }
    field.current?.focus();
  };
  return (
    <form
      ref={form}
      class="field"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {isOver && <p class="file-drop">{texts.dropFiles}</p>}
      <UploadList
        files={files}
        texts={uploadListTexts(texts)}
        onRemove={(key) => uploads.remove(key)}
        onRetry={(key) => uploads.retry(key, upload)}
      />
      <Problem text={problem} />
      <FilesButton label={texts.attach} field={texts.files} onFiles={add} disabled={isDisabled} />
      <TextField
        field={field}
        dir="auto"
        maxLength={10_000}
        label={texts.write}
        placeholder={texts.write}
        value={text}
        onText={(written) => {
          setText(written);
          onType?.(written !== '');
        }}
        onPaste={(event) => {
          const pasted = pastedFiles(event.clipboardData);
          if (pasted.length === 0) return;
          event.preventDefault();
          add(pasted);
        }}
        onEnter={send}
      />
      <IconButton
        type="submit"
        class="field-send"
        icon={SendHorizontal}
        label={texts.send}
        disabled={isEmpty || isDisabled}
      />
    </form>
  );
}
