import type { Channel, SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import { replyChannel } from '../../conversations/directory/bridge.ts';
import type { ConversationFacts } from '../../conversations/directory/directory.ts';

/** Returns whether the customer reads the message, now or once it is sent. Drafts always count. */
export function goesToCustomer({ mode, audience }: Pick<SendMessageBody, 'mode' | 'audience'>): boolean {
  return mode === 'draft' || audience === 'customer';
}

/** Returns the stated channel; the team's replies on a bridged case are mail by default. */
export function channelOf(
  body: Pick<SendMessageBody, 'mode' | 'audience' | 'channel'>,
  facts: ConversationFacts,
): Channel {
  return body.channel ?? (goesToCustomer(body) ? replyChannel(facts) : 'message');
}
