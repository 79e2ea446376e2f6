/**
 * The answers of the five specified endpoints in each version, as files: golden/<endpoint>.json. Those of 1.0.harbor
 * and 1.1.harbor never change. A version that a file does not have is written into it, and the test fails once.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { VERSIONS, type Version } from '../../src/protocol/versions.ts';
import { Conversations } from '../conversations/fixture.ts';
import { startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';

const app = await startTestApp(t);
const { users, conversations } = app.demo;
const cases = new Conversations(app);
const messages = (id: string) => `/v1/messaging/conversations/${id}/messages`;
const EXPANDED = 'include[]=sender&include[]=author&include[]=resource';

/** One request after the other, each with a name of its own. */
type Answers = Record<string, unknown>;
type Ask = (method: string, path: string, body?: object, token?: string) => Promise<unknown>;

const ENDPOINTS: Readonly<Record<string, (ask: Ask, version: Version) => Promise<Answers>>> = {
  async send_message(ask, version) {
    const { conversation } = await cases.createCase();
    const { id } = conversation;
    const send = (fields: object, query = '') =>
      ask('POST', `${messages(id)}${query}`, { body: 'ahoy', client_message_id: 'key', ...fields });
    const link = { link_resource_type: 'actor', link_resource_id: users.ada.id };
    const proposed = {
      client_message_id: undefined,
      mode: 'draft',
      audience: 'customer',
      channel: 'message',
    };
    return {
      bare: await send({ client_message_id: `${version} 1` }),
      expanded: await send({ client_message_id: `${version} 2`, ...link }, `?${EXPANDED}`),
      to_customer: await send({ client_message_id: `${version} 3`, audience: 'customer' }, `?${EXPANDED}`),
      scheduled: await send({
        client_message_id: `${version} 4`,
        scheduled_at: new Date(Date.now() + 3_600_000).toISOString(),
      }),
      draft: await send(proposed, `?${EXPANDED}`),
    };
  },
  async set_legal_hold(ask) {
    const { conversation } = await cases.createCase();
    const path = `/v1/messaging/conversations/${conversation.id}/actions/set-legal-hold`;
    return {
      held: await ask('POST', path, { legal_hold: 'held' }),
      released: await ask('POST', `${path}?include[]=assignee&include[]=group&include[]=participants`, {
        legal_hold: 'released',
      }),
    };
  },
  async reject_reply_draft(ask) {
    const { conversation } = await cases.createCase();
    const draft = async () => {
      const body = { mode: 'draft', channel: 'message', body: 'soon' };
      const made = await app.call<{ id: string }>('POST', messages(conversation.id), {
        body,
        token: users.ada.access_token,
      });
      return made.body.id;
    };
    const reject = (id: string, query = '') =>
      ask('POST', `/v1/messaging/messages/${id}/actions/reject${query}`, {});
    return { bare: await reject(await draft()), expanded: await reject(await draft(), `?${EXPANDED}`) };
  },
  async create_agent(ask, version) {
    const slug = version.replaceAll('.', '-');
    const agent = {
      ...{ name: 'Scribe', category_code: 'support', trigger_type: 'chat', description: 'Writes.' },
      config: { system_prompt: 'Write.', temperature: 0.5, tools: [{ tool: 'fetch_url', sort_order: 1 }] },
    };
    return {
      bare: await ask('POST', '/v1/ai/agents', { ...agent, slug }),
      expanded: await ask('POST', '/v1/ai/agents?include[]=config&include[]=tools&include[]=role', {
        ...agent,
        slug: `${slug}-2`,
      }),
    };
  },
  async list_notifications(ask) {
    const path = '/v1/messaging/notifications';
    const list = (query: string) => ask('GET', `${path}?${query}`, undefined, users.vera.access_token);
    return {
      bare: await list('limit=1'),
      expanded: await list('include[]=sender&include[]=resource'),
      none: await list('status=read'),
    };
  },
};

await app.call('POST', messages(conversations.group), {
  body: { body: 'one', client_message_id: 'one' },
  token: users.ada.access_token,
});
await app.call('POST', messages(conversations.group), {
  body: { body: 'two', client_message_id: 'two', mentions: [users.vera.id] },
  token: users.ada.access_token,
});
await until(
  async () => {
    const { body } = await app.call<{ data: object[] }>('GET', '/v1/messaging/notifications', {
      token: users.vera.access_token,
    });
    return body.data.length === 2;
  },
  { what: 'two notifications' },
);

for (const [endpoint, answersOf] of Object.entries(ENDPOINTS)) {
  t.test(endpoint, async (t) => {
    const path = join(import.meta.dirname, 'golden', `${endpoint}.json`);
    const golden: Record<string, Answers> = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
    for (const version of VERSIONS) {
      const ask: Ask = async (method, path, body, token = users.ada.access_token) => {
        const headers = { 'Service-Version': version };
        const isAgents = path.startsWith('/v1/ai/');
        const answer = await app.call<unknown>(method, path, {
          ...{ headers, ...(body && { body }) },
          ...(isAgents || path.includes('legal-hold') ? {} : { token }),
        });
        if (answer.status >= 300) throw new Error(answer.text);
        return answer.body;
      };
      const answers = normalised(await answersOf(ask, version), version);
      const known = golden[version];
      if (known === undefined) {
        golden[version] = answers;
        writeFileSync(path, `${JSON.stringify(golden, null, 2)}\n`);
        t.fail(`${version} was missing and is written now`);
      } else t.strictSame(answers, known, version);
    }
  });
}

/** Ids, times and cursors by the order in which they come. */
function normalised(answers: Answers, version: Version): Answers {
  const seen = new Map<string, string>();
  const nameOf = (text: string, kind: string) => {
    const name =
      seen.get(text) ??
      `<${kind} ${[...seen.values()].filter((one) => one.startsWith(`<${kind} `)).length + 1}>`;
    seen.set(text, name);
    return name;
  };
  const text = JSON.stringify(answers)
    .replaceAll(version.replaceAll('.', '-'), '<version>')
    .replaceAll(version, '<version>')
    .replace(/\b[a-z]{3}_[\w-]{20,}/g, (id) => nameOf(id, id.slice(0, 3)))
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/cursor=[\w-]+/g, 'cursor=<cursor>');
  return JSON.parse(text);
}
