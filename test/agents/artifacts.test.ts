/**
 * Files that agents write (`create_artifact`) and read (`read_doc`), on a whole server with object
 * storage.
 */

import { newId } from '@parley/protocol/ids.ts';
import type { Artifact } from '@parley/protocol/resources/agent-run.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { UploadUrl } from '@parley/protocol/resources/upload.ts';
import { kindOfUpload } from '@parley/protocol/resources/upload-kind.ts';
import t from 'tap';
import type { Principal } from '../../src/api/access/principal.ts';
import { S3Store } from '../../src/core/attachments/s3-store.ts';
import { purgeUploads } from '../../src/core/attachments/uploads.ts';
import { ConversationDirectory } from '../../src/core/conversations/directory/directory.ts';
import type { AttachedTool } from '../../src/core/tables/agent-tables.ts';
import { createArtifactTool } from '../../src/features/agents/tools/create-artifact.ts';
import { readDocTool } from '../../src/features/agents/tools/read-doc.ts';
import { ObjectServer } from '../attachments/object-server.ts';
import { send } from '../attachments/store-contract.ts';
import { startTestApp } from '../support/app.ts';
import { accepted } from './bodies.ts';
import { ActingAgents, callTool, refusalShown } from './tools.ts';

interface Made {
  readonly artifact_id: string;
  readonly filename: string;
  readonly size_bytes: number;
}

interface Doc {
  readonly id: string;
  readonly filename: string;
  readonly content_type: string;
  readonly size_bytes: number;
  readonly text: string;
  readonly truncated: boolean;
}

const KEYS = { accessKeyId: 'AKIAPARLEY', secretAccessKey: 'a secret of the bucket' };
const server = await new ObjectServer({ bucket: 'files', ...KEYS, now: Date.now }).listen(t);
const app = await startTestApp(t, {
  PARLEY_S3_BUCKET: 'files',
  PARLEY_S3_ENDPOINT: server.endpoint,
  PARLEY_S3_ACCESS_KEY_ID: KEYS.accessKeyId,
  PARLEY_S3_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
});
const { demo, database } = app;
const agents = await ActingAgents.open(t, app);
const store = new S3Store({
  bucket: 'files',
  region: 'us-east-1',
  endpoint: server.endpoint,
  credentials: KEYS,
});
t.teardown(() => store.close());
const directory = new ConversationDirectory(database, agents.rights);
const create = createArtifactTool(attached('create_artifact'), { database, store });
const reader = readDocTool(attached('read_doc'), { database, store, directory });
const { group } = demo.conversations;
const PREVIEW: Record<string, string> = { 'Service-Version': '1.2.harbor' };
const ABSENT = 'resource_not_found: There is no such document.';

const author = await agents.create(['messaging:read']);
const member = await agents.create(['messaging:read']);
const outsider = await agents.create(['messaging:read']);
const mute = await agents.create([]);
for (const agent of [member, mute]) await agents.join(agent, group);

t.test('an artifact: the object, its rows, the output for the model', async (t) => {
  const runId = await insertRun(author);
  const actionId = newId('agentAction');
  const args = { filename: 'Flut.md', content_type: 'text/markdown', content: '# Höchststand' };
  const made = await callTool<Made>(create, args, { principal: author, runId, actionId });
  t.strictSame(made, { artifact_id: made.artifact_id, filename: 'Flut.md', size_bytes: 14 });
  t.match(made.artifact_id, /^art_\w{24}$/);

  const row = await database.kysely
    .selectFrom('artifacts')
    .selectAll()
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow();
  t.match(row, {
    id: made.artifact_id,
    account_id: demo.account_id,
    filename: 'Flut.md',
    size_bytes: 14,
    content_type: 'text/markdown',
  });
  t.match(row.s3_key, /^upl_\w{24}$/);
  t.strictSame(server.objects.get(row.s3_key), {
    bytes: Buffer.from('# Höchststand'),
    type: 'text/markdown',
  });
  t.match(await uploadOf(row.s3_key), { actor_id: author.actor.id, size_bytes: 14, attached_at: String });

  const again = await Promise.all(
    [1, 2, 3].map(() => callTool<Made>(create, args, { principal: author, runId, actionId })),
  );
  for (const other of again) t.strictSame(other, made, 'the same action makes one artifact');
  const other = await callTool<Made>(create, args, { principal: author, runId });
  t.not(other.artifact_id, made.artifact_id, 'another one another');
});

t.test('a creation that broke off is completed by a repetition', async (t) => {
  const runId = await insertRun(author);
  const actionId = newId('agentAction');
  const args = { filename: 'a.txt', content: 'a' };
  const made = () => callTool<Made>(create, args, { principal: author, runId, actionId });
  server.failing = 503;
  const away = 'external_service_error: The object storage answered with an error.';
  t.equal(await refusalShown(made()), away);
  server.failing = undefined;
  const key = actionId.replace('acn_', 'upl_');
  t.match(await uploadOf(key), { attached_at: null }, 'the purge knows of it');
  const { artifact_id } = await made();
  t.match(await uploadOf(key), { attached_at: String });
  t.equal((await readDoc(artifact_id, author)).text, 'a');
  server.failing = 503;
  t.equal(await refusalShown(readDoc(artifact_id, author)), away);
  server.failing = undefined;
});

t.test('the arguments and the size of an artifact are checked', async (t) => {
  const small = createArtifactTool(attached('create_artifact', { max_bytes: 4 }), { database, store });
  const runId = await insertRun(author);
  const told = (args: object) =>
    refusalShown((async () => callTool(small, args, { principal: author, runId }))());
  const file = { filename: 'a.txt', content: 'abcd' };
  const refused: [args: object, expected: string][] = [
    [{ ...file, content: 'abcé' }, 'validation_failed: content: Has more than 4 bytes.'],
    [{ ...file, content: '' }, 'validation_failed: content: Must not be empty.'],
    [{ content: 'a' }, 'missing_field: filename: This field is required.'],
    [{ ...file, content_type: 'image/svg+xml' }, 'validation_failed: content_type: Must be one of: '],
    [{ ...file, run_id: 'x' }, 'validation_failed: run_id: There is no such field here.'],
  ];
  for (const [args, expected] of refused) t.ok((await told(args)).startsWith(expected), await told(args));
  t.match(await told(file), /^was answered: {"artifact_id":"art_/);
});

t.test('an artifact has the readers of its run', async (t) => {
  const free = await makeArtifact(await insertRun(author));
  const bound = await makeArtifact(await insertRun(author, group));
  const whole = {
    id: free,
    filename: 'tide.txt',
    content_type: 'text/plain',
    size_bytes: 14,
    text: 'The tide is in',
    truncated: false,
  };
  t.strictSame(await readDoc(free, author), whole);
  t.strictSame(await readDoc(free, outsider), whole, 'one of no conversation is the account’s');
  t.equal((await readDoc(bound, author)).text, 'The tide is in', 'its own');
  t.equal((await readDoc(bound, member)).text, 'The tide is in');
  for (const agent of [outsider, mute]) t.equal(await refusalShown(readDoc(bound, agent)), ABSENT);
  const theirs: Principal = { ...member, accountId: demo.other_account.account_id };
  for (const id of [free, bound]) t.equal(await refusalShown(readDoc(id, theirs)), ABSENT);
  for (const id of [newId('artifact'), newId('attachment'), 'art_', 'x', demo.account_id]) {
    t.equal(await refusalShown(readDoc(id, member)), ABSENT, id);
  }
});

t.test('an artifact that is attached to a message is shown to the readers of the message', async (t) => {
  const { id: messageId, attachments } = await sendFiles([
    {
      filename: 'log.csv',
      content_type: 'text/csv; charset=iso-8859-1',
      bytes: Buffer.from('Möwe', 'latin1'),
    },
  ]);
  const id = attachments![0]!.id;
  t.strictSame(await readDoc(id, member), {
    id,
    filename: 'log.csv',
    content_type: 'text/csv; charset=iso-8859-1',
    size_bytes: 4,
    text: 'Möwe',
    truncated: false,
  });
  for (const agent of [outsider, mute]) t.equal(await refusalShown(readDoc(id, agent)), ABSENT);
  const theirs: Principal = { ...member, accountId: demo.other_account.account_id };
  t.equal(await refusalShown(readDoc(id, theirs)), ABSENT);

  accepted(await app.call('DELETE', `/v1/messaging/messages/${messageId}`));
  t.equal(await refusalShown(readDoc(id, member)), ABSENT);
});

t.test('types that can be read as text', async (t) => {
  const long = `${'é'.repeat(140_000)}.`;
  const { attachments } = await sendFiles([
    { filename: 'a.png', content_type: 'image/png', bytes: Buffer.from('PNG') },
    { filename: 'a.json', content_type: 'application/json', bytes: Buffer.from('{"a":"\0"}') },
    { filename: 'long.txt', content_type: 'text/plain', bytes: Buffer.from(`x${long}`) },
    { kind: 'link', url: 'https://example.com/' },
  ]);
  const [picture, json, text, link] = attachments!.map(({ id }) => id);
  t.equal(
    await refusalShown(readDoc(picture!, member)),
    'validation_failed: This is image/png, which cannot be read as text.',
  );
  t.equal(await refusalShown(readDoc(link!, member)), 'validation_failed: This is no file but a link.');
  t.match(await readDoc(json!, member), { text: '{"a":"\uFFFD"}', truncated: false });
  const cut = await readDoc(text!, member);
  t.equal(cut.text, `x${long.slice(0, 131_071)}`, 'up to a whole character');
  t.ok(cut.truncated);
});

t.test('an artifact over REST, with an address to download it from', async (t) => {
  const runId = await insertRun(author);
  const args = { filename: 'Flut.md', content_type: 'text/markdown', content: '# Höchststand' };
  const { artifact_id: id } = await callTool<Made>(create, args, { principal: author, runId });
  const get = (artifact: string, token: string, headers = PREVIEW) =>
    app.call<Artifact>('GET', `/v1/ai/artifacts/${artifact}`, { token, headers });
  const { status, body } = await get(id, demo.users.grace.access_token);
  t.equal(status, 200);
  t.strictSame(body, {
    id,
    object: 'artifact',
    run_id: runId,
    filename: 'Flut.md',
    content_type: 'text/markdown',
    size_bytes: 14,
    url: body.url,
    created_at: body.created_at,
  });
  t.equal(await (await fetch(body.url)).text(), '# Höchststand');

  const { body: closed } = await app.call<{ id: string }>('POST', '/v1/messaging/conversations', {
    token: demo.users.ada.access_token,
    body: { type: 'group', participants: [] },
  });
  const inClosed = await insertRun(author);
  await database.kysely
    .updateTable('agent_runs')
    .set({ conversation_id: closed.id })
    .where('id', '=', inClosed)
    .execute();
  const { artifact_id: hidden } = await callTool<Made>(create, args, { principal: author, runId: inClosed });
  t.equal((await get(hidden, demo.users.ada.access_token)).status, 200);
  const absent = newId('artifact');
  const [kept, missing] = [hidden, absent].map((one) => get(one, demo.users.grace.access_token));
  const texts = [(await kept!).text.replaceAll(hidden, 'ID'), (await missing!).text.replaceAll(absent, 'ID')];
  t.equal(texts[0], texts[1], 'a run that the caller may not read');
  t.equal((await kept!).status, 404);
  const { api_key, account_id } = demo.other_account;
  const elsewhere = await get(id, api_key, { ...PREVIEW, 'Service-Account': account_id });
  t.equal(elsewhere.status, 404);
  t.equal((await get(id, demo.users.vera.access_token)).status, 403, 'without agents:run');
  t.equal((await get(id, demo.customer.access_token)).status, 403);
  t.equal((await get(id, demo.api_key, {} as typeof PREVIEW)).status, 400, 'in an older version');
});

t.test('artifacts are kept as long as their run', async (t) => {
  const runId = await insertRun(author);
  const id = await makeArtifact(runId);
  const key = id.replace('art_', 'upl_');
  const age = {
    name: 'age-artifact',
    text: "UPDATE uploads SET created_at = now() - interval '30 hours', attached_at = NULL WHERE s3_key = $1",
  };
  await database.query(age, key);
  await purgeUploads(database, store);
  t.ok(server.objects.has(key));
  t.match(await uploadOf(key), { attached_at: String });
  await database.kysely.deleteFrom('agent_runs').where('id', '=', runId).execute();
  await purgeUploads(database, store);
  t.notOk(server.objects.has(key));
  t.equal(await uploadOf(key), undefined);
});

function readDoc(id: string, principal: Principal): Promise<Doc> {
  return callTool<Doc>(reader, { id }, { principal });
}

async function makeArtifact(runId: string): Promise<string> {
  const args = { filename: 'tide.txt', content: 'The tide is in' };
  return (await callTool<Made>(create, args, { principal: author, runId })).artifact_id;
}

/** One that has ended, of the demo's agent acting as `principal`. */
async function insertRun({ actor }: Principal, conversationId: string | null = null): Promise<string> {
  const id = newId('agentRun');
  await database.kysely
    .insertInto('agent_runs')
    .values({
      id,
      account_id: demo.account_id,
      agent_id: demo.agent.id,
      actor_id: actor.id,
      trigger_type: 'manual',
      trigger_key: id,
      status: 'completed',
      conversation_id: conversationId,
    })
    .execute();
  return id;
}

type Attachment =
  | { readonly filename: string; readonly content_type: string; readonly bytes: Buffer }
  | { readonly kind: 'link'; readonly url: string };

async function sendFiles(files: readonly Attachment[]): Promise<ChatMessage> {
  const attachments = await Promise.all(
    files.map(async (file) => {
      if ('kind' in file) return file;
      const { filename, content_type, bytes } = file;
      const body = { filename, content_type, size_bytes: bytes.length };
      const path = '/v1/messaging/attachments/upload-url';
      const upload = accepted(await app.call<UploadUrl>('POST', path, { body }), 201);
      await send({ ...upload, expiresAtMs: 0 }, bytes);
      return { kind: kindOfUpload(content_type), s3_key: upload.s3_key };
    }),
  );
  const path = `/v1/messaging/conversations/${group}/messages`;
  const body = { client_message_id: newId('message'), attachments };
  const { id } = accepted(await app.call<ChatMessage>('POST', path, { body }), 201);
  const shown = `/v1/messaging/messages/${id}?include[]=attachments`;
  return accepted(await app.call<ChatMessage>('GET', shown));
}

function uploadOf(key: string) {
  return database.kysely.selectFrom('uploads').selectAll().where('s3_key', '=', key).executeTakeFirst();
}

function attached(tool: AttachedTool['tool'], config: unknown = null): AttachedTool {
  const times = { created_at: '', updated_at: '' };
  return { id: '', tool, review_requirement: 'not_required', config, sort_order: 0, ...times };
}
