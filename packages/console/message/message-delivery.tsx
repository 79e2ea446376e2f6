import type { TimelineMessage } from '@parley/client';
import { useConnection } from '@parley/client/react';
import { isSessionOver } from '../session/session.ts';
import { useMessageContext } from './message-context.tsx';

/** Says that a message is being sent, or why it was not. */
export function MessageDelivery({ message }: { readonly message: TimelineMessage }) {
  const { live } = useMessageContext();
  if (message.delivery === 'sent') return null;
  const { key, error } = message;
  if (message.delivery === 'pending') return <Pending />;
  return (
    <p class="message-failed" role="alert">
      Not sent: {error?.message ?? 'the server refused it.'}{' '}
      <button type="button" class="message-again" onClick={() => live?.retry(key).catch(() => {})}>
        Try again
      </button>
      <button type="button" class="message-again" onClick={() => live?.discard(key)}>
        Discard
      </button>
    </p>
  );
}

function Pending() {
  const { error } = useConnection();
  return <p class="message-pending">{isSessionOver(error) ? 'Waits for your sign-in.' : 'Sending…'}</p>;
}
