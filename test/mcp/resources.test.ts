/** Conversations and files as resources. */

import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { UploadUrl } from '@parley/protocol/resources/upload.ts';
import t from 'tap';
import { startTestApp } from '../support/app.ts';
import { CLIENTS, connect } from './clients.ts';

const app = await startTestApp(t);
const { demo } = app;
const url = `${app.baseUrl}/mcp`;
const { ada, grace } = demo.users;
const { group } = demo.conversations;

for (const [title, open] of Object.entries(CLIENTS)) {
  t.test(title, async (t) => {
    const client = await open(t, { url, token: grace.access_token });
    const { resources } = await client.listResources();
    const { body } = await app.call<{ data: { id: string }[] }>('GET', '/v1/messaging/conversations', {
      token: grace.access_token,
    });
    t.strictSame(
      resources.map(({ uri }) => uri),
      body.data.map(({ id }) => `parley://conversations/${id}`),
    );
    const uri = `parley://conversations/${group}`;
    const [read] = (await client.readResource({ uri })).contents;
    t.match(read, { uri, mimeType: 'application/json' });
    t.match(JSON.parse((read as { text: string }).text), {
      conversation: { id: group },
      messages: { object: 'list' },
    });
    for (const absent of [
      'parley://conversations/cnv_0000',
      'parley://conversations/../v1/me',
      'parley://messages/msg_1/files/fil_1',
      'https://example.com/',
    ]) {
      await t.rejects(client.readResource({ uri: absent }), /no such/i, absent);
    }
  });
}

t.test('the list goes on where a page ends', async (t) => {
  const names = Array.from({ length: 30 }, (_, n) => `Room ${n}`);
  for (const name of names) {
    const body = { type: 'group', title: name, participants: [] };
    const made = await app.call('POST', '/v1/messaging/conversations', { token: ada.access_token, body });
    if (made.status !== 201) throw new Error(made.text);
  }
  const client = await connect(t, { url, token: ada.access_token });
  const titles: (string | undefined)[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.request({
      method: 'resources/list',
      params: cursor === undefined ? {} : { cursor },
    });
    titles.push(...page.resources.map(({ title }) => title));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  t.strictSame(
    names.filter((name) => titles.filter((title) => title === name).length !== 1),
    [],
  );
  await t.rejects(client.request({ method: 'resources/list', params: { cursor: 'limit=many' } }), /integer/);
});

t.test('a file is read by those that may read its message', async (t) => {
  const client = await connect(t, { url, token: grace.access_token });
  const { resourceTemplates } = await client.listResourceTemplates();
  t.strictSame(
    resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    ['parley://conversations/{id}', 'parley://messages/{message_id}/files/{id}'],
  );
  const files = [
    { kind: 'file', s3_key: await uploaded('text/plain', 'Ahoy, ä') },
    { kind: 'file', s3_key: await uploaded('application/pdf', '%PDF-1.7') },
    { kind: 'file', s3_key: await uploaded('text/plain', 'x'.repeat(4 * 1024 * 1024 + 1)) },
    { kind: 'link', url: 'https://example.com/' },
  ];
  const sent = await app.call<ChatMessage>('POST', `/v1/messaging/conversations/${group}/messages`, {
    token: grace.access_token,
    body: { body: 'Files', client_message_id: 'files', attachments: files },
  });
  t.equal(sent.status, 201, sent.text);
  const read = await app.call<ChatMessage>(
    'GET',
    `/v1/messaging/messages/${sent.body.id}?include[]=attachments`,
    {
      token: grace.access_token,
    },
  );
  const uris = read.body.attachments!.map(({ id }) => `parley://messages/${sent.body.id}/files/${id}`);
  const [text, pdf, long, link] = uris as [string, string, string, string];
  const contents = async (uri: string) => (await client.readResource({ uri })).contents;
  t.strictSame(await contents(text), [{ uri: text, mimeType: 'text/plain', text: 'Ahoy, ä' }]);
  t.strictSame(await contents(pdf), [{ uri: pdf, mimeType: 'application/pdf', blob: btoa('%PDF-1.7') }]);
  const [facts] = (await contents(long)) as { mimeType: string; text: string }[];
  t.equal(facts!.mimeType, 'application/json');
  t.match(JSON.parse(facts!.text), { size_bytes: 4 * 1024 * 1024 + 1, url: /^http/ });
  await t.rejects(contents(link), /no such resource/);

  for (const token of [demo.customer.access_token, demo.other_account.api_key]) {
    const other = await connect(t, { url, token });
    await t.rejects(other.readResource({ uri: text }), /no such/i);
  }
  const { status } = await app.call('DELETE', `/v1/messaging/messages/${sent.body.id}`, {
    token: grace.access_token,
  });
  t.equal(status, 200);
  await t.rejects(contents(text), /./, 'deleted');
});

async function uploaded(content_type: string, text: string): Promise<string> {
  const bytes = Buffer.from(text);
  const { body } = await app.call<UploadUrl>('POST', '/v1/messaging/attachments/upload-url', {
    token: grace.access_token,
    body: { filename: 'a', content_type, size_bytes: bytes.length },
  });
  const put = await fetch(body.url, { method: body.method, headers: body.headers, body: bytes });
  if (put.status !== 204) throw new Error(await put.text());
  return body.s3_key;
}
