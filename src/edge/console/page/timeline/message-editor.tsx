import { useEffect, useRef, useState } from 'preact/hooks';
import type { LiveConversation, SentMessage } from '../../../../contract/client/index.ts';
import { Button } from '../../../../platform/ui/button.tsx';
import { notifyFailure } from '../../../../platform/ui/notify.ts';
import { TextField } from '../../../../platform/ui/text-field.tsx';

export interface MessageEditorProps {
  readonly message: SentMessage;
  readonly live: LiveConversation | undefined;
  readonly onDone: () => void;
}

/** Changes a message in its place: Enter saves, Escape leaves it as it was. */
export function MessageEditor({ message, live, onDone }: MessageEditorProps) {
  const [text, setText] = useState(message.body ?? '');
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const area = field.current!;
    area.focus();
    area.setSelectionRange(area.value.length, area.value.length);
  }, []);
  const body = text.trim();
  const isEmpty = body === '' && (message.attachments ?? []).length === 0;
  const save = () => {
    if (isEmpty) return;
    if (body !== message.body) live?.edit(message.id, body).catch(notifyFailure);
    onDone();
  };
  return (
    <form
      class="message-editor"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <TextField
        label="Edit the message"
        value={text}
        onText={setText}
        onEnter={save}
        onKey={(event) => {
          if (event.key !== 'Escape') return;
          event.preventDefault();
          event.stopPropagation();
          onDone();
        }}
        field={field}
      />
      <div class="message-editor-buttons">
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" look="primary" disabled={isEmpty}>
          Save
        </Button>
      </div>
    </form>
  );
}
