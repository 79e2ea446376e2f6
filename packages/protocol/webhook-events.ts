/** Parley's own events for webhooks (docs/contract.md#webhooks), beside those of producers. */
export const WEBHOOK_EVENTS = [
  'message.created',
  'message.updated',
  'message.reacted',
  'message.pinned',
  'message.question_ended',
  'messages.purged',
  'draft.created',
  'draft.updated',
  'scheduled.updated',
  'conversation.created',
  'conversation.updated',
  'participant.added',
  'participant.updated',
  'participant.removed',
  'agent_run.completed',
  'email.received',
] as const;
