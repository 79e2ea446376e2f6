import type { TimelineMessage } from '@parley/client';
import { useConnection } from '@parley/client/react';
import { failureText } from '@parley/ui/texts/failure-text.ts';
import { isSessionOver } from '../session/session.ts';
import { texts } from '../texts/texts.ts';
import { useMessageContext } from './message-context.tsx';

/** Says that a message is being sent, or why it was not. */
export function MessageDelivery({ message }: { readonly message: TimelineMessage }) {
  const { live } = useMessageContext();
  if (message.delivery === 'sent') return null;
  const { key, error } = message;
  if (message.delivery === 'pending') return <Pending />;
  return (
    <p class="message-failed" role="alert">
      {texts.message.notSent(error ? failureText(error) : texts.message.refused)}{' '}
      <button type="button" class="message-again" onClick={() => live?.retry(key).catch(() => {})}>
        {texts.message.tryAgain}
      </button>
      <button type="button" class="message-again" onClick={() => live?.discard(key)}>
        {texts.message.discard}
      </button>
    </p>
  );
}

function Pending() {
  const { error } = useConnection();
  return (
    <p class="message-pending">
      {isSessionOver(error) ? texts.message.waitsForSignIn : texts.message.sending}
    </p>
  );
}
