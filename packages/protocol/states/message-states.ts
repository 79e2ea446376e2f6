import type { MessageStatus } from '../resources/chat-message.ts';
import type { Transitions } from './transitions.ts';

/** The changes of `chat_message.status` (docs/contract.md#messages). `none`: no message yet. */
export const MESSAGE_MOVES = {
  send: { from: ['none'], to: 'sent', when: 'Send Message in mode send, without scheduled_at' },
  schedule: { from: ['none'], to: 'scheduled', when: 'Send Message in mode send, with scheduled_at' },
  draft: { from: ['none'], to: 'draft', when: 'Send Message in mode draft' },
  approve: { from: ['draft'], to: 'sent', when: 'a person approves the draft' },
  reply: {
    from: ['draft'],
    to: 'sent',
    when: 'an agent that may send by itself has composed it, and no person has written since',
  },
  reject: { from: ['draft'], to: 'rejected', when: 'Reject Reply Draft' },
  supersede: { from: ['draft'], to: 'superseded', when: 'a newer draft answers the same thread message' },
  deliver: { from: ['scheduled'], to: 'sent', when: 'it is due, and its author may still send it' },
  send_now: {
    from: ['scheduled'],
    to: 'sent',
    when: 'Send Scheduled Message Now, and its author may still send it',
  },
  cancel: { from: ['scheduled'], to: 'canceled', when: 'it is canceled, or over a day late' },
  fail: { from: ['scheduled'], to: 'failed', when: 'the fifth attempt to deliver it is refused' },
} as const satisfies Transitions<MessageStatus | 'none'>;
