/**
 * Events that can start an agent of trigger type `event` (`config.trigger_config.event_filters`;
 * docs/contract.md#triggers). A plain table: an event that is not in it is never sent.
 */
export const TRIGGER_EVENTS = [
  'message.created',
  'conversation.created',
  'conversation.updated',
  'email.received',
  'agent_run.completed',
] as const;

export type TriggerEventName = (typeof TRIGGER_EVENTS)[number];
