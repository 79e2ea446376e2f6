/**
 * The rules of bodies that no schema states. Each is broken once at a resource that does not exist,
 * and the rule is the answer, not the 404. A route with a body must be listed here with its rules,
 * or as having none.
 */

import { newId } from '@parley/protocol/ids.ts';
import { TOKEN_EXCHANGE } from '@parley/protocol/resources/token.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { refusalOf, startTestApp } from '../support/app.ts';

const app = await startTestApp(t, { PARLEY_MAIL_DOMAINS: 'harbor.example' });
const { ada } = app.demo.users;

type Broken = readonly [body: object, refusal: string];

function site(site: string): object {
  return { name: 'A', sites: [site] };
}

function provider(more: object): object {
  return {
    name: 'A',
    issuer: 'https://login.example.com',
    audience: 'a',
    jwks_url: 'https://login.example.com/keys',
    ...more,
  };
}

/** A key that is none. */
const APPLE = { team_id: 'ABCDEFGHIJ', key_id: 'ABCDEFGHIJ', private_key: 'key' };

/** By route. `none`: whatever a schema accepts may be accepted by some resource. */
const RULES: Readonly<Record<string, readonly Broken[] | 'none'>> = {
  import_messages: [
    [imported({ body: '' }), '400 missing_field messages[0].body'],
    [imported({ deleted_at: '2020-01-01T00:00:00Z' }), '422 validation_failed messages[0].body'],
    [imported({}, {}), '422 validation_failed messages[1].client_message_id'],
    [imported({ created_at: '1969-01-01T00:00:00Z' }), '422 validation_failed messages[0].created_at'],
    [imported({ created_at: '2999-01-01T00:00:00Z' }), '422 validation_failed messages[0].created_at'],
    [imported({ edited_at: '2019-01-01T00:00:00Z' }), '422 validation_failed messages[0].edited_at'],
    [
      imported({ reply_to_client_message_id: 'x' }),
      '422 validation_failed messages[0].reply_to_client_message_id',
    ],
    [
      imported({ reactions: [{ emoji: 'x', actor_id: 'x' }] }),
      '422 validation_failed messages[0].reactions[0].emoji',
    ],
    [imported({ pinned_at: '2020-01-01T00:00:00Z' }), '400 missing_field messages[0].pinned_by'],
    [imported({ attachments: [{ kind: 'link' }] }), '400 missing_field messages[0].attachments[0].url'],
  ],
  send_message: [
    [{}, '400 missing_field body'],
    [{ body: 'x' }, '400 missing_field client_message_id'],
    [{ mode: 'draft', body: 'x' }, '400 missing_field channel'],
    [
      { mode: 'draft', body: 'x', channel: 'message', audience: 'internal' },
      '422 validation_failed audience',
    ],
    [draft({ scheduled_at: '2999-01-01T00:00:00Z' }), '422 validation_failed scheduled_at'],
    [message({ source_thread_message_id: 'x' }), '422 validation_failed source_thread_message_id'],
    [message({ channel: 'email' }), '422 validation_failed channel'],
    [message({ subject: 'x' }), '422 validation_failed subject'],
    [message({ audience: 'customer', channel: 'message', cc: ['a@b.co'] }), '422 validation_failed cc'],
    [message({ scheduled_at: '2020-01-01T00:00:00Z' }), '422 validation_failed scheduled_at'],
    [message({ scheduled_at: '2999-01-01T00:00:00Z' }), '422 validation_failed scheduled_at'],
    [message({ link_resource_type: 'actor' }), '400 missing_field link_resource_id'],
    [message({ link_resource_id: 'x' }), '400 missing_field link_resource_type'],
    [message({ attachments: [{ kind: 'link' }] }), '400 missing_field attachments[0].url'],
    [message({ attachments: [{ kind: 'file' }] }), '400 missing_field attachments[0].s3_key'],
    [
      message({ attachments: [{ kind: 'link', url: 'https://a.example', s3_key: 'x' }] }),
      '422 validation_failed attachments[0].s3_key',
    ],
    [
      message({ attachments: [{ kind: 'link', url: 'javascript:alert(1)' }] }),
      '422 validation_failed attachments[0].url',
    ],
    [message({ mentions: ['x', 'y', 'x'] }), '422 validation_failed mentions[2]'],
    [message({ question: { text: 'x', type: 'select' } }), '400 missing_field question.options'],
    [message({ question: { text: 'x', type: 'form' } }), '400 missing_field question.fields'],
  ],
  forward_message: [
    [{ conversation_id: 'cnv_x', client_message_id: ' ' }, '400 missing_field client_message_id'],
  ],
  update_message: [
    [{ attachments: [{ url: 'https://a.example' }] }, '400 missing_field attachments[0].kind'],
    [{ attachments: [{ id: 'x', kind: 'link' }] }, '422 validation_failed attachments[0].kind'],
    [{ attachments: [{ id: 'x' }, { id: 'x' }] }, '422 validation_failed attachments[1].id'],
    [{ attachments: [{ kind: 'link' }] }, '400 missing_field attachments[0].url'],
    [{ scheduled_at: '2020-01-01T00:00:00Z' }, '422 validation_failed scheduled_at'],
    [{ mentions: ['x', 'x'] }, '422 validation_failed mentions[1]'],
  ],
  answer_question: [[{ revision: 1, option: 'a', values: {} }, '422 validation_failed values']],
  create_alert: 'none',
  approve_reply_draft: 'none',
  reject_reply_draft: 'none',
  redact_message: 'none',
  mark_thread_read: 'none',
  create_conversation: [
    [group([{ type: 'customer', actor_id: 'x' }]), '422 validation_failed participants[0].type'],
    [group([{ type: 'customer' }], 'customer'), '400 missing_field participants[0].actor_id'],
    [
      group([{ type: 'customer', actor_id: 'x', name: 'A' }], 'customer'),
      '422 validation_failed participants[0].name',
    ],
    [
      group([{ type: 'customer', actor_id: 'x', external_id: 'A' }], 'customer'),
      '422 validation_failed participants[0].external_id',
    ],
    [
      group([{ type: 'agent', actor_id: 'x', agent_trigger_policy: 'keyword' }]),
      '400 missing_field participants[0].agent_trigger_keywords',
    ],
    [
      group([
        { type: 'user', actor_id: 'x' },
        { type: 'agent', actor_id: 'x' },
      ]),
      '422 validation_failed participants[1].actor_id',
    ],
    [{ ...group([]), inbox_id: 'inb_x' }, '422 validation_failed inbox_id'],
    [{ ...group([], 'customer'), inbox_id: 'inb_x' }, '422 validation_failed participants'],
    [direct('act_x'), '422 validation_failed participants'],
    [direct('act_x', 'act_x'), '422 validation_failed participants[1].actor_id'],
  ],
  // Their paths take external ids alone (test/accounts/put-contract.test.ts).
  put_conversation: 'none',
  put_customer: 'none',
  put_group: 'none',
  put_user: 'none',
  update_conversation: 'none',
  set_legal_hold: 'none',
  mark_conversation_read: 'none',
  mark_conversation_unread: 'none',
  snooze_conversation: [[{ until: '2020-01-01T00:00:00Z' }, '422 validation_failed until']],
  create_customer_token: 'none',
  add_participant: [
    [{ type: 'customer' }, '400 missing_field actor_id'],
    [{ type: 'customer', actor_id: 'x', email: 'a@b.co' }, '422 validation_failed email'],
    [
      { type: 'agent', actor_id: 'x', agent_trigger_policy: 'keyword' },
      '400 missing_field agent_trigger_keywords',
    ],
    [
      { type: 'agent', actor_id: 'x', agent_trigger_policy: 'always', agent_trigger_keywords: ['x'] },
      '422 validation_failed agent_trigger_keywords',
    ],
  ],
  update_participant: [
    [{ muted_until: '2999-01-01T00:00:00Z' }, '422 validation_failed muted_until'],
    [{ notifications: 'muted', muted_until: '2020-01-01T00:00:00Z' }, '422 validation_failed muted_until'],
    [
      { agent_trigger_policy: 'keyword', agent_trigger_keywords: [] },
      '400 missing_field agent_trigger_keywords',
    ],
  ],
  create_agent: [
    [agent({ trigger_type: 'scheduled' }), '400 missing_field config.trigger_config.cron_schedule'],
    [agent({ trigger_type: 'event' }), '400 missing_field config.trigger_config.event_filters'],
  ],
  update_agent: [
    [
      { config: { endpoint_tool_slugs: ['no-such-tool'] } },
      '422 validation_failed config.endpoint_tool_slugs[0]',
    ],
    [
      { config: { endpoint_tool_slugs: ['*', 'list-users'] } },
      '422 validation_failed config.endpoint_tool_slugs[0]',
    ],
    [
      { config: { endpoint_tool_review: { 'no-such-tool': true } } },
      '422 validation_failed config.endpoint_tool_review.no-such-tool',
    ],
    [
      { config: { tools: [{ tool: 'read_doc' }, { tool: 'read_doc' }] } },
      '422 validation_failed config.tools[1].tool',
    ],
    [
      { config: { tools: [{ tool: 'read_doc', config_json: '{' }] } },
      '400 invalid_format config.tools[0].config_json',
    ],
    [trigger({ cron_schedule: 'often' }), '400 invalid_format config.trigger_config.cron_schedule'],
    [
      trigger({ cron_schedule: '0 9 * * *', timezone: 'Mars/Olympus' }),
      '400 invalid_format config.trigger_config.timezone',
    ],
    [
      trigger({ cron_schedule: '0 9 * * *', event_filters: ['order.created'] }),
      '422 validation_failed config.trigger_config.event_filters',
    ],
    [
      trigger({ event_filters: ['message.deleted'] }),
      '422 validation_failed config.trigger_config.event_filters[0]',
    ],
    [
      trigger({ event_filters: ['order.created', 'order.created'] }),
      '422 validation_failed config.trigger_config.event_filters[1]',
    ],
  ],
  trigger_agent_run: [[{ input: 'x'.repeat(100_000) }, '422 validation_failed input']],
  continue_agent_run: [
    [
      {
        decisions: [
          { action_id: 'x', approve: true },
          { action_id: 'x', approve: false },
        ],
      },
      '422 validation_failed decisions[1].action_id',
    ],
  ],
  create_webhook: [
    [{ url: 'not a url', event_types: ['*'] }, '400 invalid_format url'],
    [{ url: 'ftp://a.example', event_types: ['*'] }, '422 validation_failed url'],
  ],
  update_webhook: [
    [{ url: 'not a url' }, '400 invalid_format url'],
    [{ url: 'ftp://a.example' }, '422 validation_failed url'],
    [{ event_types: ['message.nothing'] }, '422 validation_failed event_types[0]'],
    [{ event_types: ['*', 'message.*', '*'] }, '422 validation_failed event_types[2]'],
  ],
  replay_webhook: [[{ since: '2999-01-01T00:00:00Z' }, '422 validation_failed since']],
  create_inbox: [
    [{ name: 'A', address: 'a@elsewhere.example', group_id: 'grp_x' }, '422 validation_failed address'],
  ],
  update_inbox: [
    [{ address: 'a@elsewhere.example' }, '422 validation_failed address'],
    [{ address: 'a+b@harbor.example' }, '422 validation_failed address'],
  ],
  create_event: [
    [{ type: 'message.created', data: {} }, '422 validation_failed type'],
    [{ type: 'order.created', data: {}, resource_type: 'order' }, '400 missing_field resource_id'],
  ],
  create_notifications: [
    [notification({ category: 'chat.message' }), '422 validation_failed category'],
    [notification({ resource_type: 'entity' }), '400 missing_field resource_id'],
    [notification({ resource_id: 'x' }), '400 missing_field resource_type'],
    [notification({ recipient_ids: ['x', 'y', 'x'] }), '422 validation_failed recipient_ids[2]'],
  ],
  create_api_key: [
    [{ name: 'A', role_id: 'rol_x', expires_at: '2020-01-01T00:00:00Z' }, '422 validation_failed expires_at'],
  ],
  create_group: [[{ name: 'A', members: ['x', 'x'] }, '422 validation_failed members[1]']],
  update_group: [[{ members: ['x', 'x'] }, '422 validation_failed members[1]']],
  open_realtime_stream: 'none',
  poll_realtime: 'none',
  show_typing: 'none',
  create_push_subscription: 'none',
  create_push_device: 'none',
  create_push_app: [
    [{ name: 'A', platform: 'fcm' }, '400 missing_field service_account'],
    [{ name: 'A', platform: 'fcm', topic: 'com.example' }, '422 validation_failed topic'],
    [{ name: 'A', platform: 'apns' }, '400 missing_field topic'],
    [{ name: 'A', platform: 'apns', topic: 'com.example', ...APPLE }, '422 validation_failed private_key'],
  ],
  update_push_app: [
    [{ key_id: 'ABCDEFGHIJ' }, '400 missing_field private_key'],
    [{ private_key: 'key' }, '400 missing_field key_id'],
    [APPLE, '422 validation_failed private_key'],
  ],
  create_conversation_view: [[{ name: 'A', filters: {} }, '422 validation_failed filters']],
  update_conversation_view: [[{ filters: {} }, '422 validation_failed filters']],
  set_notification_settings: 'none',
  mark_all_notifications: 'none',
  create_upload_url: 'none',
  create_user: 'none',
  claim_user: 'none',
  update_user: 'none',
  update_customer: 'none',
  erase_user: 'none',
  update_account: 'none',
  create_installation_account: 'none',
  update_installation_account: 'none',
  update_me: 'none',
  create_role: 'none',
  update_role: 'none',
  create_entity: 'none',
  create_token: [
    [{}, '400 missing_field user_id'],
    [{ user_id: 'x', subject_token: 'a.b.c' }, '422 validation_failed subject_token'],
    [{ subject_token: 'a.b.c' }, '400 missing_field grant_type'],
    [{ grant_type: TOKEN_EXCHANGE }, '400 missing_field subject_token'],
    [{ grant_type: TOKEN_EXCHANGE, subject_token: 'a.b.c' }, '400 missing_field subject_token_type'],
  ],
  // Whether a part exists depends on the import (test/import/import-job.test.ts).
  create_import_part: 'none',
  create_import: 'none',
  create_identity_provider: [
    [provider({ issuer: 'not a url' }), '400 invalid_format issuer'],
    [provider({ issuer: 'http://login.example.com' }), '422 validation_failed issuer'],
    [provider({ issuer: 'https://login.example.com/?a=b' }), '422 validation_failed issuer'],
    [provider({ jwks_url: undefined }), '400 missing_field jwks_url'],
    [provider({ jwks_url: 'http://login.example.com/keys' }), '422 validation_failed jwks_url'],
    [provider({ jwks_url: 'https://10.0.0.1/keys' }), '422 validation_failed jwks_url'],
    [provider({ jwks: { keys: [{ kty: 'OKP' }] } }), '422 validation_failed jwks'],
    [
      provider({ jwks_url: undefined, jwks: { keys: [{ kty: 'oct', k: 'x' }] } }),
      '422 validation_failed jwks.keys[0]',
    ],
    [provider({ algorithms: ['RS256', 'HS256'] }), '422 validation_failed algorithms[1]'],
    [
      provider({ jwks_url: undefined, secret: 'x'.repeat(32), algorithms: ['RS256'] }),
      '422 validation_failed algorithms[0]',
    ],
    [provider({ person: 'customer', role_id: 'x' }), '422 validation_failed role_id'],
    [provider({ provision: 'first_use' }), '400 missing_field role_id'],
  ],
  update_identity_provider: [
    [{ jwks_url: 'not a url' }, '400 invalid_format jwks_url'],
    [{ secret: 'x'.repeat(32), jwks_url: 'https://login.example.com/keys' }, '422 validation_failed secret'],
    [{ secret: 'x'.repeat(32), algorithms: ['RS256'] }, '422 validation_failed algorithms[0]'],
  ],
  create_widget: [
    [site('shop.example'), '400 invalid_format sites[0]'],
    [site('http://shop.example'), '422 validation_failed sites[0]'],
    [site('https://shop.example/path'), '422 validation_failed sites[0]'],
    [site('https://*.shop.example'), '422 validation_failed sites[0]'],
    [
      { name: 'A', sites: ['https://shop.example', 'https://SHOP.example:443/'] },
      '422 validation_failed sites[1]',
    ],
    [
      { ...site('https://shop.example'), hours: { timezone: 'Mars/Base', open: [] } },
      '400 invalid_format hours.timezone',
    ],
  ],
  update_widget: [
    [{ sites: ['data:text/html,x'] }, '422 validation_failed sites[0]'],
    [{ hours: { timezone: '+01:00', open: [] } }, '400 invalid_format hours.timezone'],
  ],
  claim_visitor: 'none',
  confirm_address: 'none',
  enter_confirmation_code: 'none',
  open_confirmation: 'none',
  refresh_token: 'none',
  register: 'none',
  set_retention_policy: 'none',
  set_customer_card_source: [
    [{ url: 'http://10.0.0.1' }, '422 validation_failed url'],
    [{ url: 'shop' }, '400 invalid_format url'],
  ],
};

t.test('each rule of a body is checked before the resource', async (t) => {
  const routes = app.routes.filter(({ body }) => Object.keys(fieldsOf(body)).length > 0);
  t.same(routes.map(({ name }) => name).sort(), Object.keys(RULES).sort(), 'every route with a body');
  for (const { name, method, path } of routes) {
    const rules = RULES[name]!;
    for (const [body, expected] of rules === 'none' ? [] : rules) {
      const headers = { 'Service-Version': NEWEST_VERSION, 'Idempotency-Key': newId('message') };
      const answer = await app.call(method, unknown(path), { headers, body });
      t.equal(refusalOf(answer), expected, `${name} ${JSON.stringify(body).slice(0, 120)}`);
      const again = await app.call(method, unknown(path), { headers, body });
      t.equal(again.headers.get('Idempotent-Replayed'), null, 'and is not kept for its Idempotency-Key');
    }
  }
});

t.test('what only some callers may send', async (t) => {
  const token = await app.tokenOf(app.demo.users.ada.id);
  const self = await app.call('POST', '/v1/messaging/conversations', { token, body: direct(ada.id) });
  t.equal(refusalOf(self), '422 validation_failed participants');
});

t.test('a parameter of the path that is no id', async (t) => {
  const headers = { 'Service-Version': NEWEST_VERSION };
  for (const method of ['PUT', 'DELETE']) {
    const answer = await app.call(method, '/v1/messaging/messages/msg_x/reactions/x', { headers });
    t.equal(refusalOf(answer), '400 parameter_invalid emoji');
  }
});

function message(fields: object): object {
  return { body: 'x', client_message_id: 'rules', ...fields };
}

function draft(fields: object): object {
  return { body: 'x', mode: 'draft', channel: 'message', ...fields };
}

function group(participants: readonly object[], audience = 'internal'): object {
  return { type: 'group', audience, participants, topic: { type: 'entity', id: 'x' } };
}

function direct(...ids: readonly string[]): object {
  return { type: 'direct_message', participants: ids.map((actor_id) => ({ type: 'user', actor_id })) };
}

function agent(fields: object): object {
  return { name: 'A', slug: 'a', category_code: 'a', config: {}, role_id: 'rol_x', ...fields };
}

function trigger(trigger_config: object): object {
  return { config: { trigger_config } };
}

function notification(fields: object): object {
  return { category: 'order.updated', title: 'A', recipient_ids: ['act_x'], ...fields };
}

function fieldsOf(body: unknown): object {
  const {
    properties = {},
    oneOf,
    anyOf,
  } = (body ?? {}) as {
    readonly properties?: object;
    readonly oneOf?: readonly object[];
    readonly anyOf?: readonly object[];
  };
  return { ...properties, ...oneOf, ...anyOf };
}

function unknown(path: string): string {
  return path.replaceAll(/:\w+/g, () => newId('message'));
}

function imported(...messages: object[]): object {
  const message = {
    client_message_id: 'x',
    author_id: 'act_x',
    body: 'x',
    created_at: '2020-01-01T00:00:00Z',
  };
  return { messages: messages.map((fields) => ({ ...message, ...fields })) };
}
