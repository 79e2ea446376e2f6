/**
 * Parley's own events that can start an agent of trigger type `event`
 * (`config.trigger_config.event_filters`; docs/contract.md#triggers). Every event of a producer can
 * (event-areas.ts). A plain table.
 */
export const TRIGGER_EVENTS = [
  'message.created',
  'conversation.created',
  'conversation.updated',
  'email.received',
  'agent_run.completed',
] as const;

export type TriggerEventName = (typeof TRIGGER_EVENTS)[number];
