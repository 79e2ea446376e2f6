/** The tools that clients of both generations see and call, and what they are refused. */

import t from 'tap';
import { startTestApp } from '../support/app.ts';
import { CLIENTS, connect, modern, refusalIn } from './clients.ts';

const app = await startTestApp(t);
const { demo } = app;
const url = `${app.baseUrl}/mcp`;
const { grace } = demo.users;
const group = demo.conversations.group;

const NAMES = [
  'get-me',
  'list-conversations',
  'get-conversation',
  'list-messages',
  'search',
  'list-conversation-files',
  'list-people',
  'send-message',
  'draft-message',
  'add-reaction',
  'show-typing',
  'poll-realtime',
  'list-agents',
  'trigger-agent-run',
  'get-agent-run',
  'cancel-agent-run',
  'list-runs',
  'continue-agent-run',
  'approve-reply-draft',
  'reject-reply-draft',
  'answer-question',
];

for (const [title, open] of Object.entries(CLIENTS)) {
  t.test(title, async (t) => {
    const client = await open(t, { url, token: grace.access_token });

    const { tools } = await client.listTools();
    t.strictSame(
      tools.map(({ name }) => name),
      NAMES,
    );

    const listed = await client.callTool({ name: 'list-conversations', arguments: { query: { limit: 2 } } });
    const rest = await app.call('GET', '/v1/messaging/conversations?limit=2', { token: grace.access_token });
    t.strictSame(idsIn(listed.structuredContent), idsIn(rest.body), 'as over REST');

    const sent = await client.callTool({
      name: 'send-message',
      arguments: { path: { id: group }, body: { client_message_id: title, body: title } },
    });
    t.match(sent.structuredContent, { body: title, author_id: grace.id });
    const read = await client.callTool({ name: 'list-messages', arguments: { path: { id: group } } });
    t.match(read.structuredContent, { data: [{ body: title }] });

    const absent = await client.callTool({
      name: 'get-conversation',
      arguments: { path: { id: 'cnv_0000' } },
    });
    t.equal(refusalIn(absent), 'resource_not_found id');
    const wrong = await client.callTool({
      name: 'list-conversations',
      arguments: { query: { limit: 'many' } },
    });
    t.match(refusalIn(wrong), /query\.limit$/);
    const surplus = await client.callTool({ name: 'get-me', arguments: { headers: {} } });
    t.match(refusalIn(surplus), /headers$/);
    await t.rejects(client.callTool({ name: 'get_me' }), /Unknown tool: get_me/);
  });

  t.test(`${title}, with all tools`, async (t) => {
    const all = await open(t, { url: `${url}?tools=all`, token: demo.api_key });
    const { tools } = await all.listTools();
    t.ok(tools.length > 80, `${tools.length} tools`);
    t.strictSame(
      tools.filter(({ inputSchema, outputSchema }) =>
        [inputSchema, outputSchema].some((schema) => schema !== undefined && schema.type !== 'object'),
      ),
      [],
    );
    const named = await open(t, { url: `${url}?tools=list-pins,get-me`, token: demo.api_key });
    t.strictSame(
      (await named.listTools()).tools.map(({ name }) => name),
      ['list-pins', 'get-me'],
    );
    const pins = await named.callTool({ name: 'list-pins', arguments: { path: { id: group } } });
    t.match(pins.structuredContent, { object: 'list' });
  });
}

t.test('hints say what a tool does, and do not open it', async (t) => {
  const client = await connect(t, { url: `${url}?tools=all`, token: demo.api_key });
  const { tools } = await client.listTools();
  const hints = new Map(tools.map(({ name, annotations }) => [name, annotations]));
  t.match(hints.get('list-messages'), { readOnlyHint: true, destructiveHint: false });
  t.match(hints.get('poll-realtime'), { readOnlyHint: true });
  t.match(hints.get('send-message'), { readOnlyHint: false, idempotentHint: false });
  t.match(hints.get('delete-message'), { readOnlyHint: false, destructiveHint: true });
});

t.test('a tool that does not exist is refused with the one that is meant', async (t) => {
  const answer = await modern(`${url}?tools=list_pin`, demo.api_key, 'tools/list');
  t.equal(answer.status, 400);
  t.match(JSON.parse(answer.text).error, {
    message: 'There is no tool list_pin. Did you mean list-pins?',
    data: { code: 'parameter_invalid', param: 'tools' },
  });
});

function idsIn(list: unknown): string[] {
  return (list as { data: { id: string }[] }).data.map(({ id }) => id);
}
