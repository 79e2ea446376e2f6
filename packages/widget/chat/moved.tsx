import { Button } from '@parley/ui/elements/button.tsx';
import { type AskedMail, isOpen } from '../identity/asked.ts';
import { EnterCode, type EnterCodeProps } from './enter-code.tsx';

export interface MovedProps extends Pick<EnterCodeProps, 'texts' | 'widgetId' | 'onEntered'> {
  readonly mail: AskedMail;
  /** The visitor begins again as a stranger. */
  readonly onNew: () => void;
}

/** Says that the conversation goes on where the mailed link was opened, and how to have it here. */
export function Moved({ texts, widgetId, mail, onEntered, onNew }: MovedProps) {
  return (
    <div class="chat-body">
      <p class="bubble" role="status">
        {texts.moved(mail.email)}
      </p>
      {isOpen(mail) && <EnterCode texts={texts} widgetId={widgetId} mail={mail} onEntered={onEntered} />}
      <Button onClick={onNew}>{texts.again}</Button>
    </div>
  );
}
