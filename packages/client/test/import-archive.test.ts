/** `client.importArchive`, against the real server. */

import t from 'tap';
import { slackContents, zipped } from '../../../test/import/samples.ts';
import { borrowTestApp } from '../../../test/support/app.ts';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import { connect, type Import, type UploadProgress } from '../index.ts';

const app = await borrowTestApp(t);
const { demo } = app;

function open(t: Teardown, token: string, connectFetch: typeof fetch = fetch) {
  const client = connect({
    url: app.baseUrl,
    account: demo.account_id,
    fetch: connectFetch,
    mostWaitMs: 100,
    getToken: async () => token,
  });
  t.teardown(() => client.close());
  return client;
}

const archive = new Blob([new Uint8Array(await zipped(slackContents(9)))]);

t.test('an archive is uploaded and imported', async (t) => {
  const client = open(t, demo.users.ada.access_token);
  const created: Import[] = [];
  const progress: UploadProgress[] = [];
  const { id } = await client.importArchive(
    archive,
    { source: 'slack', origin: 'first' },
    { onCreated: (one) => created.push(one), onProgress: (one) => progress.push(one) },
  );
  t.match(created, [{ id, status: 'awaiting_upload' }]);
  t.match(progress.at(-1), { sentBytes: archive.size, totalBytes: archive.size });
  const done = await ended(client, id);
  t.match(done, { status: 'completed' }, done.error_message ?? '');
});

t.test('a part that fails is sent again, and a broken upload goes on', async (t) => {
  let puts = 0;
  const failing: typeof fetch = async (input, init) => {
    if (init?.method !== 'PUT') return fetch(input, init);
    puts += 1;
    throw new TypeError('The cable is loose.');
  };
  const broken = open(t, demo.users.ada.access_token, failing);
  let made: Import | undefined;
  const aborter = new AbortController();
  const upload = broken.importArchive(
    archive,
    { source: 'slack', origin: 'second' },
    {
      onCreated: (one) => {
        made = one;
      },
      signal: aborter.signal,
    },
  );
  void upload.catch(() => {});
  await until(() => puts > 3, { what: 'tries, each with a new address' });
  aborter.abort();
  await t.rejects(upload, { name: 'AbortError' });
  const client = open(t, demo.users.ada.access_token);
  const { id } = await client.importArchive(archive, { source: 'slack' }, { resume: made! });
  t.equal(id, made!.id);
  t.match(await ended(client, id), { status: 'completed', origin: 'second' });
});

t.test('parts that are there are not sent again', async (t) => {
  const puts: number[] = [];
  const counting: typeof fetch = async (input, init) => {
    if (String(input).endsWith('/parts')) puts.push(JSON.parse(String(init?.body)).number);
    if (init?.method !== 'PUT' && !String(input).includes('/v1/imports')) return fetch(input, init);
    return Response.json({
      url: `${app.baseUrl}/x`,
      method: 'PUT',
      headers: {},
      id: 'imp_1',
      status: 'queued',
    });
  };
  const client = open(t, demo.users.ada.access_token, counting);
  const resume = { id: 'imp_1', parts: { size_bytes: 100, count: 4, uploaded: [1, 3] } } as unknown as Import;
  await client.importArchive(archive, { source: 'slack' }, { resume });
  t.strictSame(puts, [2, 4]);
});

t.test('a member is refused', async (t) => {
  const client = open(t, demo.users.grace.access_token);
  await t.rejects(client.importArchive(archive, { source: 'slack' }), {
    code: 'insufficient_permissions',
    status: 403,
  });
});

function ended(client: ReturnType<typeof open>, id: string): Promise<Import> {
  return until(
    async () => {
      const found = await client.fetch<Import>(`/v1/imports/${id}`);
      return ['completed', 'failed', 'canceled'].includes(found.status) ? found : undefined;
    },
    { what: 'the end of the import' },
  );
}
