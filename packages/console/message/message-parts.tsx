import type { TimelineMessage } from '@parley/client';
import { MailParts } from '../mail/mail-parts.tsx';
import { RunParts } from '../runs/run-parts.tsx';
import { useMessageContext } from './message-context.tsx';

/** The parts below a message: the mail that carries it, and the run that wrote it. */
export function MessageParts({ message }: { readonly message: TimelineMessage }) {
  const { conversationId } = useMessageContext();
  if (message.delivery !== 'sent' || message.deleted_at !== null) return null;
  const { agent_run_id: runId, channel, kind } = message;
  const isMail = channel === 'email' || kind === 'email';
  return (
    <>
      {isMail && <MailParts message={message} conversationId={conversationId} />}
      {runId && <RunParts message={message} runId={runId} conversationId={conversationId} />}
    </>
  );
}
