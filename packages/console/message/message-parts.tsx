import type { TimelineMessage } from '@parley/client';
import type { ComponentChildren } from 'preact';
import { isMail, MailedParts, MailParts } from '../mail/mail-parts.tsx';
import { RunParts } from '../runs/run-parts.tsx';
import { useMessageContext } from './message-context.tsx';

export interface MessagePartsProps {
  readonly message: TimelineMessage;
  /** The text and the files of the message. */
  readonly children: ComponentChildren;
}

/** The content of a message, with the mail that carries it and the run that wrote it. */
export function MessageParts({ message, children }: MessagePartsProps) {
  const { conversationId } = useMessageContext();
  if (message.delivery !== 'sent' || message.deleted_at !== null) return <>{children}</>;
  const { agent_run_id: runId } = message;
  return (
    <>
      {isMail(message) ? (
        <MailParts message={message} conversationId={conversationId}>
          {children}
        </MailParts>
      ) : message.email_status === null ? (
        children
      ) : (
        <MailedParts message={message}>{children}</MailedParts>
      )}
      {runId && <RunParts message={message} runId={runId} conversationId={conversationId} />}
    </>
  );
}
