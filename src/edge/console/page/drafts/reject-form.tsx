import { useEffect, useRef, useState } from 'preact/hooks';
import { MESSAGE_LIMITS } from '../../../../contract/protocol/resources/message-limits.ts';
import { useAction } from '../../../../platform/ui/action.ts';
import { Button } from '../../../../platform/ui/button.tsx';
import { Problem } from '../../../../platform/ui/problem.tsx';
import { TextField } from '../../../../platform/ui/text-field.tsx';

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
  // The attribute counts only for what a page has when it is loaded.
  useEffect(() => field.current!.focus(), []);
  const reject = (event: Event) => {
    event.preventDefault();
    void run(async () => onReject(why.trim() === '' ? undefined : why.trim()));
  };
  return (
    <form ref={form} class="reject-form" onSubmit={reject}>
      <TextField
        label="Why it is rejected"
        placeholder="Why? The author and the team see it"
        maxLength={MESSAGE_LIMITS.rejectionReasonCharacters}
        value={why}
        onText={setWhy}
        onEnter={() => form.current?.requestSubmit()}
        field={field}
      />
      <Problem text={problem} />
      <div class="draft-card-tools">
        <Button onClick={onEnd}>Cancel</Button>
        <Button type="submit" look="danger" disabled={isBusy}>
          Reject the draft
        </Button>
      </div>
    </form>
  );
}
