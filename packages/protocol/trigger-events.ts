/**
 * Parley's own events that can start an agent of trigger type `event`
 * (`config.trigger_config.event_filters`; docs/contract.md#triggers). Every event of a producer
 * can.
 */
export const TRIGGER_EVENTS = [
  'message.created',
  'conversation.created',
  'conversation.updated',
  'email.received',
  'agent_run.completed',
] as const;
