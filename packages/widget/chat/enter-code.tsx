import type { VisitorSession } from '@parley/protocol/resources/widget.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useState } from 'preact/hooks';
import type { AskedMail } from '../identity/asked.ts';
import { call, Refused } from '../identity/widget-calls.ts';
import type { WidgetTexts } from '../texts/widget-texts.ts';

export interface EnterCodeProps {
  readonly texts: WidgetTexts;
  readonly widgetId: string;
  readonly mail: AskedMail;
  /** Whether something is still being sent, which the end of the session would lose. */
  readonly isWaiting?: boolean;
  readonly onEntered: (session: VisitorSession) => void;
}

/** The form for the code of a mail, which makes this browser known. */
export function EnterCode({ texts, widgetId, mail, isWaiting = false, onEntered }: EnterCodeProps) {
  const [code, setCode] = useState('');
  const { isBusy, problem, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const path = `/v1/widgets/${encodeURIComponent(widgetId)}/visitors/actions/enter-code`;
      const body = { confirmation_token: mail.confirmation_token, code };
      onEntered(
        await call<VisitorSession>('POST', path, { body }).catch((error) => {
          throw new Error(problemOf(error, texts), { cause: error });
        }),
      );
    });
  };
  return (
    <form class="address" onSubmit={submit}>
      <label>
        <span>{texts.code}</span>
        <input
          required
          dir="ltr"
          inputMode="numeric"
          autocomplete="one-time-code"
          pattern="\s*[0-9]{3}\s?[0-9]{3}\s*"
          value={code}
          onInput={({ currentTarget }) => setCode(currentTarget.value.replaceAll(/\s/g, ''))}
        />
      </label>
      <Button type="submit" disabled={isBusy || isWaiting}>
        {texts.codeSend}
      </Button>
      <Problem text={problem} />
    </form>
  );
}

function problemOf(error: unknown, texts: WidgetTexts): string {
  if (!(error instanceof Refused)) return texts.problem;
  if (error.code === 'expired_token') return texts.codeExpired;
  if (error.status === 429) return texts.codeTries;
  return error.status === 401 ? texts.codeWrong : texts.problem;
}
