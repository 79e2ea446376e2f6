/**
 * What an agent of trigger type `event` can be started by (`config.trigger_config.event_filters`;
 * specification, Events). A plain table: what is not in it nothing ever sends.
 */
export const TRIGGER_EVENTS = [
  'message.created',
  'conversation.created',
  'conversation.updated',
  'email.received',
  'agent_run.completed',
] as const;

export type TriggerEventName = (typeof TRIGGER_EVENTS)[number];
