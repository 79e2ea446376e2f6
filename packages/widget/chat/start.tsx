import type { Upload } from '@parley/client/writing/uploads.ts';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import type { WidgetTexts } from '../texts/widget-texts.ts';
import { Field, type WrittenMessage } from './field.tsx';
import type { KeptWriting } from './kept-writing.ts';

export interface StartProps {
  readonly texts: WidgetTexts;
  readonly greeting: string;
  /** The text for outside of the hours; null within them. */
  readonly offline: string | null;
  readonly onSend: (message: WrittenMessage) => Promise<void>;
  readonly upload: Upload;
  readonly writing: KeptWriting;
}

/** A conversation that begins with its first message. */
export function Start({ texts, greeting, offline, onSend, upload, writing }: StartProps) {
  const { isBusy: isSending, problem, run } = useAction();
  const send = (message: WrittenMessage) => run(() => onSend(message));
  return (
    <>
      <div class="chat-body">
        <p class="bubble">{greeting}</p>
        {offline !== null && <p class="bubble">{offline}</p>}
        {isSending && <p role="status">{texts.sending}</p>}
        <Problem text={problem} />
      </div>
      <Field
        texts={texts}
        upload={upload}
        writing={writing}
        place="new"
        onSend={send}
        isDisabled={isSending}
      />
    </>
  );
}
