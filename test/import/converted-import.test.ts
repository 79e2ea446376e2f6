/** An archive converted without a server is imported like the archive itself. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { convertArchive } from '@parley/archives/convert/convert-archive.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { ImportRemark, ImportReport } from '@parley/protocol/resources/import.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { freshDirectory } from '../start/parley.ts';
import { callsAt, startTestApp, type TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import {
  ended,
  mattermostContents,
  slackContents,
  startImport,
  tarred,
  zipped,
  zulipContents,
} from './samples.ts';

const [ofArchives, ofConverted] = [await startTestApp(t), await startTestApp(t)];

/** Imports an archive, and returns what became of it, by names and numbers alone. */
async function imported(app: TestApp, source: string, archive: Buffer) {
  const { call } = callsAt(app, NEWEST_VERSION);
  const id = await startImport(call, source, archive);
  const done = await ended(call, id);
  if (done.status !== 'completed') throw new Error(done.error_message ?? done.status);
  const { body: report } = await call<ImportReport>('GET', `/v1/imports/${id}/report`);
  const { body: remarks } = await call<List<ImportRemark>>('GET', `/v1/imports/${id}/remarks?limit=100`);
  const rows = async (text: string) => (await app.database.pool.query(text, [id])).rows;
  return {
    // Documents are files of the one archive, and lines of the other.
    types: report.types.filter(({ type }) => type !== 'documents'),
    notes: report.notes,
    // What a conversion notices itself comes in another order.
    remarks: remarks.data.map(({ type, ...it }) => `${type} ${JSON.stringify(it)}`).sort(),
    people: await rows(`
      SELECT a.name, a.handle, a.customer, a.external_id, a.deactivated_at IS NOT NULL AS deactivated
      FROM import_refs r JOIN actors a ON a.id = r.our_id WHERE r.import_id = $1
      ORDER BY a.name, a.external_id`),
    // An owner is appointed by chance where the archive names none.
    conversations: await rows(`
      SELECT c.title, c.type, c.status, c.audience, c.external_id,
        (SELECT json_agg(json_build_array(a.name, p.read_sequence) ORDER BY a.name, a.external_id)
          FROM participants p JOIN actors a ON a.id = p.actor_id WHERE p.conversation_id = c.id) AS members,
        (SELECT json_agg(p.role ORDER BY p.role) FROM participants p WHERE p.conversation_id = c.id) AS roles
      FROM import_refs r JOIN conversations c ON c.id = r.our_id WHERE r.import_id = $1
      ORDER BY c.title, c.external_id`),
    messages: await rows(`
      SELECT c.title, m.sequence, m.client_message_id, m.kind, m.visibility, m.body, a.name AS author,
        m.created_at, m.edited_at, m.deleted_at, root.client_message_id AS root,
        (SELECT json_agg(json_build_array(x.emoji, y.name, x.created_at) ORDER BY x.emoji, y.name)
          FROM reactions x JOIN actors y ON y.id = x.actor_id WHERE x.message_id = m.id) AS reactions,
        (SELECT json_agg(json_build_array(x.filename, x.content_type, x.size_bytes) ORDER BY x.position)
          FROM attachments x WHERE x.message_id = m.id) AS files
      FROM messages m JOIN conversations c ON c.id = m.conversation_id
        LEFT JOIN actors a ON a.id = m.author_id LEFT JOIN messages root ON root.id = m.reply_to_id
      WHERE m.imported ->> 'import_id' = $1 ORDER BY c.title, m.conversation_id, m.sequence`),
  };
}

async function converted(source: 'slack' | 'mattermost' | 'zulip' | 'parley', archive: Buffer) {
  const place = freshDirectory(t);
  const [from, to] = [join(place, 'archive'), join(place, 'converted.zip')];
  writeFileSync(from, archive);
  await convertArchive({ source, from, to });
  return readFileSync(to);
}

/** A slack with a thread, files that are there, damaged, empty and nowhere, and lines to skip. */
async function slackArchive(): Promise<Buffer> {
  const files = ['F1', 'F2', 'F3', 'F4'].map((id) => ({ id, name: `${id}.txt`, mimetype: 'text/plain' }));
  const archive = await zipped({
    ...slackContents(120, files),
    'general/2020-09-14.json': [7, { type: 'message', user: 'UNONE', text: 'hi', ts: '1600000999.000001' }],
    '__uploads/F1/F1.txt': 'whole',
    '__uploads/F2/F2.txt': 'damaged',
    '__uploads/F3/F3.txt': '',
  });
  const at = archive.lastIndexOf('__uploads/F2') - 46 + 16;
  archive.writeUInt32LE((archive.readUInt32LE(at) ^ 1) >>> 0, at);
  return archive;
}

t.test('the people, conversations, messages, files, read positions and remarks are the same', async (t) => {
  for (const [source, archive] of [
    ['slack', await slackArchive()],
    ['mattermost', Buffer.from(mattermostContents(30))],
    ['zulip', await tarred(zulipContents(30))],
  ] as const) {
    const expected = await imported(ofArchives, source, archive);
    t.ok(expected.messages.length >= 30 && expected.people.length > 1, source);
    t.strictSame(await imported(ofConverted, 'parley', await converted(source, archive)), expected, source);
  }
});

t.test('an export of a case, with its customer', async (t) => {
  const { call } = callsAt(ofArchives, NEWEST_VERSION);
  const path = `/v1/messaging/conversations/${ofArchives.demo.conversations.case}/exports`;
  const { body: made } = await call<{ id: string }>('POST', path);
  const url = await until(
    async () => (await call<{ url: string | null }>('GET', `/v1/exports/${made.id}`)).body.url ?? undefined,
    { what: 'the export' },
  );
  const archive = Buffer.from(await (await fetch(url)).arrayBuffer());
  const expected = await imported(ofConverted, 'parley', archive);
  t.ok(expected.people.some(({ customer }) => customer));
  t.strictSame(await imported(await startTestApp(t), 'parley', await converted('parley', archive)), expected);
});

t.test('after the archive itself, what it became brings nothing', async (t) => {
  const { types } = await imported(
    ofArchives,
    'parley',
    await converted('zulip', await tarred(zulipContents(31))),
  );
  const { imported: fresh, existed } = types.find(({ type }) => type === 'messages')!;
  t.strictSame({ fresh, existed }, { fresh: 1, existed: 30 });
});
