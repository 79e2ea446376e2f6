import { useConversation } from '@parley/client/react';
import { Composer } from '../composer/composer.tsx';
import { HoldBanner } from '../holds/hold-banner.tsx';
import { MessagesOf } from '../message/message-context.tsx';
import { WaitingRuns } from '../runs/waiting-runs.tsx';
import { texts } from '../texts/texts.ts';
import { ConversationHead } from './conversation-head.tsx';
import { Timeline } from './timeline.tsx';
import { TypingLine } from './typing-line.tsx';

export interface ConversationProps {
  readonly id: string;
  /** The id of a message to show in the middle. */
  readonly message?: string;
}

/** An open conversation: its head, its timeline, and the composer. */
export function Conversation({ id, message }: ConversationProps) {
  const { conversation, status } = useConversation(id);
  return (
    <section
      class="conversation"
      aria-label={texts.timeline.conversation}
      data-opening={conversation === null && status !== 'ended'}
      data-focus=".composer .message-field"
    >
      <ConversationHead conversationId={id} />
      <HoldBanner conversationId={id} />
      <MessagesOf conversationId={id}>
        <Timeline message={message} />
      </MessagesOf>
      <WaitingRuns conversationId={id} />
      <TypingLine conversationId={id} />
      <Composer conversationId={id} />
    </section>
  );
}
