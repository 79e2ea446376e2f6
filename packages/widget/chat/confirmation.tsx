import { Button } from '@parley/ui/elements/button.tsx';
import { useState } from 'preact/hooks';
import type { WidgetTexts } from '../texts/widget-texts.ts';

export interface ConfirmationProps {
  readonly texts: WidgetTexts;
  readonly onConfirm: () => Promise<void>;
}

/** Asks for a click, because programs that look through mail open links as well. */
export function Confirmation({ texts, onConfirm }: ConfirmationProps) {
  const [isFailed, setFailed] = useState(false);
  return (
    <main class="confirmation">
      <h1>{texts.confirmTitle}</h1>
      {isFailed ? (
        <p role="alert">{texts.confirmFailed}</p>
      ) : (
        <>
          <p>{texts.confirmText}</p>
          <Button look="primary" onClick={() => onConfirm().catch(() => setFailed(true))}>
            {texts.confirm}
          </Button>
        </>
      )}
    </main>
  );
}
