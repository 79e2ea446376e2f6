import { useState } from 'preact/hooks';
import { Button } from '../elements/button.tsx';
import { useAction } from '../feedback/action.ts';
import { Problem } from '../feedback/problem.tsx';
import { uiTexts } from '../texts/ui-texts.ts';
import { Dialog } from './dialog.tsx';

export interface ConfirmProps {
  readonly title: string;
  /** The consequences, in one or two sentences. */
  readonly text: string;
  /** The text of the confirming button. */
  readonly action: string;
  readonly isDanger?: boolean;
  /** Asks for a reason under this label. */
  readonly reason?: string;
  readonly isReasonRequired?: boolean;
  /** The text of a box that has to be ticked first, for what cannot be undone. */
  readonly tick?: string | undefined;
  /** Acts; the dialog stays open with the message of an error. */
  readonly onConfirm: (reason: string) => Promise<unknown>;
  readonly onClose: () => void;
}

/** Asks before an action, and for its reason if one is wanted. */
export function Confirm({
  title,
  text,
  action,
  reason: label,
  onConfirm,
  onClose,
  ...options
}: ConfirmProps) {
  const { isDanger = false, isReasonRequired = false, tick } = options;
  const [reason, setReason] = useState('');
  const { isBusy, problem, run } = useAction();
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await run(() => onConfirm(reason.trim()))) onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="confirm" onSubmit={submit}>
        <p>{text}</p>
        {label !== undefined && (
          <label class="confirm-reason">
            {label}
            <textarea
              rows={3}
              maxLength={500}
              required={isReasonRequired}
              value={reason}
              onInput={(event) => setReason(event.currentTarget.value)}
            />
          </label>
        )}
        {tick !== undefined && (
          <label class="field-line">
            <input type="checkbox" required />
            {tick}
          </label>
        )}
        <Problem text={problem} />
        <div class="confirm-buttons">
          <Button onClick={onClose}>{uiTexts.overlays.cancel}</Button>
          <Button type="submit" look={isDanger ? 'danger' : 'primary'} disabled={isBusy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
