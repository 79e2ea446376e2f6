import { MESSAGE_LIMITS } from '@parley/protocol/resources/message-limits.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { TextField } from '@parley/ui/typing/text-field.tsx';
import { useEffect, useRef, useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';

export interface RejectFormProps {
  /** Undefined where no reason is given. */
  readonly onReject: (why: string | undefined) => Promise<unknown> | undefined;
  readonly onEnd: () => void;
}

/** Asks why a draft is rejected. */
export function RejectForm({ onReject, onEnd }: RejectFormProps) {
  const [why, setWhy] = useState('');
  const { isBusy, problem, run } = useAction();
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  // The attribute works only on elements that a page has when it is loaded.
  useEffect(() => field.current!.focus(), []);
  const reject = (event: Event) => {
    event.preventDefault();
    void run(async () => onReject(why.trim() === '' ? undefined : why.trim()));
  };
  return (
    <form ref={form} class="reject-form" onSubmit={reject}>
      <TextField
        label={texts.drafts.why}
        placeholder={texts.drafts.whyHint}
        maxLength={MESSAGE_LIMITS.rejectionReasonCharacters}
        value={why}
        onText={setWhy}
        onEnter={() => form.current?.requestSubmit()}
        onKey={(event) => {
          if (pressedKey(event) !== 'Escape') return;
          event.preventDefault();
          // Escape would also close the pane around it.
          event.stopPropagation();
          onEnd();
        }}
        field={field}
      />
      <Problem text={problem} />
      <div class="draft-card-tools">
        <Button onClick={onEnd}>{texts.drafts.cancel}</Button>
        <Button type="submit" look="danger" disabled={isBusy}>
          {texts.drafts.rejectDraft}
        </Button>
      </div>
    </form>
  );
}
