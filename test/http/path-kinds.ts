import type { IdKind } from '@parley/protocol/ids.ts';

/** The kinds of resources that paths name, by the collection. */
const KINDS: Readonly<Record<string, IdKind>> = {
  conversations: 'conversation',
  messages: 'message',
  participants: 'participant',
  notifications: 'notification',
  agents: 'agent',
  runs: 'agentRun',
  'api-keys': 'apiKey',
  artifacts: 'artifact',
  users: 'actor',
  customers: 'actor',
  actors: 'actor',
  people: 'actor',
  exports: 'export',
  erasures: 'erasure',
  imports: 'import',
  'push-subscriptions': 'pushSubscription',
  'push-apps': 'pushApp',
  'push-devices': 'pushDevice',
  views: 'conversationView',
  events: 'event',
  webhooks: 'webhook',
  deliveries: 'webhookDelivery',
  inboxes: 'inbox',
  'email-complaints': 'emailComplaint',
  'identity-providers': 'identityProvider',
  widgets: 'widget',
  roles: 'role',
  groups: 'group',
  entities: 'entity',
  sessions: 'session',
};

/** `/v1/ai/agents/:id` names an agent, `…/:participant_id` a participant. */
export function kindInPath(path: string, name: string): IdKind {
  const collection = new RegExp(`([a-z-]+)/:${name}`).exec(path)?.[1] ?? '';
  const kind = KINDS[collection];
  if (kind === undefined) throw new Error(`what is in ${path}?`);
  return kind;
}
