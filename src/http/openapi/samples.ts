import type { IdKind } from '../../protocol/ids.ts';

/** The values of examples (examples.ts), by the name of a field or by `resource.field`. */

/** By the name of the resource, if it is not the name of the kind. */
export const KINDS: Readonly<Record<string, IdKind | undefined>> = {
  account: 'account',
  actor: 'actor',
  agent_action: 'agentAction',
  agent_definition: 'agent',
  agent_run: 'agentRun',
  agent_run_action: 'agentAction',
  agent_run_step: 'agentStep',
  agent_step: 'agentStep',
  api_key: 'apiKey',
  artifact: 'artifact',
  audit_event: 'auditEvent',
  available_tool: 'agentTool',
  chat_message: 'message',
  conversation: 'conversation',
  conversation_participant: 'participant',
  entity: 'entity',
  erasure: 'erasure',
  event: 'event',
  export: 'export',
  message_attachment: 'attachment',
  messaging_group: 'group',
  notification: 'notification',
  push_subscription: 'pushSubscription',
  role: 'role',
  user: 'actor',
  webhook: 'webhook',
  webhook_delivery: 'webhookDelivery',
};

/** By the noun in a field such as `role_id`, or in a path. */
export const NOUNS: Readonly<Record<string, IdKind | undefined>> = {
  account: 'account',
  action: 'agentAction',
  actor: 'actor',
  agent: 'agent',
  assignee: 'actor',
  author: 'actor',
  conversation: 'conversation',
  entity: 'entity',
  erasure: 'erasure',
  export: 'export',
  group: 'group',
  key: 'apiKey',
  message: 'message',
  notification: 'notification',
  participant: 'participant',
  subscription: 'pushSubscription',
  resource: 'entity',
  role: 'role',
  run: 'agentRun',
  sender: 'actor',
  user: 'actor',
  webhook: 'webhook',
  delivery: 'webhookDelivery',
};

/** Optional fields of a request that most callers send. */
export const OFTEN_SENT = new Set([
  'body',
  'client_message_id',
  'title',
  'name',
  'description',
  'system_prompt',
]);

/** Times that every resource has; the other times are of events that have not happened to an ordinary one. */
export const USUAL_TIMES = new Set(['created_at', 'updated_at', 'last_message_at']);

/** Fields that are null in most resources. */
export const RARE = new Set([
  'agent_trigger_policy',
  'avatar_url',
  'conversation.workflow_status',
  'entity.handle',
  'error_message',
  'streaming_state',
  'subject',
]);

/** The usual member of an enum, if it is not the first. */
export const USUAL_MEMBERS: Readonly<Record<string, string | undefined>> = {
  'account.plan': 'pro',
  'agent_definition.definition_type': 'custom',
  'agent_run.status': 'completed',
  'chat_message.status': 'sent',
  'conversation.type': 'group',
  'conversation_participant.role': 'member',
  'entity.type': 'entity',
  'message_outcome.status': 'sent',
  'notification.priority': 'normal',
  'role.type': 'user',
  legal_hold: 'held',
  mode: 'send',
  role: 'member',
  tier: 'high',
  trigger_type: 'chat',
};

/** Times that are not the usual one. */
export const TIMES: Readonly<Record<string, string>> = {
  updated_at: '2026-03-02T09:31:12.654321Z',
  last_message_at: '2026-03-02T09:31:12.654321Z',
  scheduled_at: '2026-03-03T08:00:00+01:00',
  expires_at: '2026-03-02T09:45:00.123456Z',
};

export const NUMBERS: Readonly<Record<string, number>> = {
  sequence: 42,
  limit: 25,
  size_bytes: 52_144,
  duration_ms: 1_840,
  temperature: 0.2,
};

export const TEXTS: Readonly<Record<string, string | undefined>> = {
  'account.name': 'Harbor Freight',
  'agent_definition.name': 'Triage',
  'agent_definition.description': 'Answers first questions about deliveries.',
  'api_key.name': 'Warehouse',
  'audit_event.action': 'conversation.legal_hold_set',
  'audit_head.hash': '9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab',
  'audit_head.key_id': '21fe31dfa154a261',
  'audit_head.public_key': '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
  'audit_head.signature':
    '5VZDAMNgrHKQhuLMgG6CioSHfx645dl02HPgZSJJAVVfuIIVkKM7rMYeOXAc-bRr0lv18FlbviRlUUFDjnoQCw',
  'event.resource_id': 'SO-1042',
  'available_tool.description': 'Reads a document that the account has stored.',
  'available_tool.name': 'Read a document',
  'available_tool.slug': 'read_doc',
  'conversation.title': 'Broken crane',
  'entity.name': 'SO-1042',
  'messaging_group.name': 'Customer Service',
  'push_key.id': '3f2a9c17d5e8b604',
  'push_key.public_key':
    'BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs',
  'push_subscription.endpoint': 'https://push.example.com/send/dGhlIGVuZHBvaW50',
  'push_subscription.key_id': '3f2a9c17d5e8b604',
  'notification.title': 'Ada Lovelace in Broken crane',
  'role.name': 'Support',
  'webhook.version': '1.2.harbor-preview.1',
  'webhook_delivery.event_id': 'evt_0652f5f8a6a1d0d41d8cd98f',
  'webhook_delivery.event_type': 'message.created',
  'webhook_delivery.resource_id': 'msg_0VQ3mK8ZtYp4Xw7LbN2cRd9F',
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
  access_token: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhY3RfIn0.c2lnbmF0dXJl',
  body: 'The crane is fixed.',
  category: 'chat.message',
  category_code: 'support',
  client_message_id: '8f14e45f-ceea-467f-a8d4-3c1f2b9a7e10',
  content_type: 'image/png',
  cron_schedule: '0 8 * * 1-5',
  description: 'Everything about the crane.',
  email: 'ada@example.com',
  event_id: '4f0c1d9e-order-1042',
  resource_type: 'order',
  filename: 'crane.png',
  from: '22:00',
  handle: 'ada@example.com',
  key: 'parley_0VQ3mK8ZtYp4Xw7LbN2cRd9FhJ5sGvT61kQzPa',
  name: 'Ada Lovelace',
  permissions: 'messaging:read',
  q: 'crane',
  reason: 'The customer is on the phone.',
  redacted: 'parley_…zPqa',
  refresh_token: 'rft_0VQ3mK8ZtYp4Xw7LbN2cRd9F',
  s3_key: 'uploads/0VQ3mK8ZtYp4Xw7LbN2cRd9F',
  search: 'crane',
  slug: 'triage',
  subject: 'Your crane',
  system_prompt: 'Answer first questions about deliveries, in two sentences.',
  ticket: 'tkt_0VQ3mK8ZtYp4Xw7LbN2cRd9F',
  timezone: 'Europe/Amsterdam',
  title: 'Broken crane',
  to: '07:00',
};
