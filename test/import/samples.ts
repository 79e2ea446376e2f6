/** Small archives of other services, and their upload. */

import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { Import } from '@parley/protocol/resources/import.ts';
import type { UploadUrl } from '@parley/protocol/resources/upload.ts';
import { packTar } from 'modern-tar';
import { ZipFile } from 'yazl';
import type { callsAt } from '../support/app.ts';
import { until } from '../support/until.ts';

type Contents = Readonly<Record<string, unknown>>;

/** What a workspace of Slack says, `count` messages of it in its channel. */
export function slackContents(count: number, files: readonly object[] = []): Contents {
  const user = (id: string, name: string) => ({
    id,
    team_id: 'T1',
    name,
    deleted: false,
    is_bot: false,
    profile: { real_name: `${name} of Slack`, email: `${name}@harbor.example` },
  });
  const message = (n: number) => ({
    type: 'message',
    user: n % 3 === 0 ? 'U2' : 'U1',
    text: n % 5 === 0 ? `number ${n} for <@U2>` : `number ${n}`,
    ts: `${1_600_000_000 + n}.000${100 + (n % 900)}`,
    ...(n % 7 === 0 && { reactions: [{ name: 'thumbsup', users: ['U1', 'U2'], count: 2 }] }),
    ...(n === 2 && files.length > 0 && { files }),
    ...(n % 10 === 4 && { thread_ts: `${1_600_000_000 + n - 1}.000${100 + ((n - 1) % 900)}` }),
  });
  return {
    'users.json': [user('U1', 'ines'), user('U2', 'otto'), { ...user('U3', 'gone'), deleted: true }],
    'channels.json': [
      {
        id: 'C1',
        name: 'general',
        created: 1_500_000_000,
        creator: 'U1',
        is_archived: false,
        members: ['U1', 'U2'],
        topic: { value: '' },
        purpose: { value: '' },
      },
      {
        id: 'C2',
        name: 'old',
        created: 0,
        creator: 'U3',
        is_archived: true,
        members: ['U1'],
        topic: { value: '' },
        purpose: { value: '' },
      },
    ],
    'dms.json': [{ id: 'D1', created: 1_500_000_000, members: ['U1', 'U2'] }],
    'general/2020-09-13.json': Array.from({ length: count }, (_, index) => message(index + 1)),
    'D1/2020-09-13.json': [message(1)],
  };
}

export function mattermostContents(count: number): string {
  const lines: object[] = [
    { type: 'version', version: 1 },
    { type: 'team', team: { name: 'harbor', display_name: 'Harbor', type: 'O' } },
    { type: 'channel', channel: { team: 'harbor', name: 'town', display_name: 'Town', type: 'O' } },
  ];
  for (const username of ['ines', 'otto']) {
    const channels = [{ name: 'town', roles: 'channel_user', last_viewed_at: 1_600_000_004_000 }];
    const user = {
      username,
      email: `${username}@harbor.example`,
      teams: [{ name: 'harbor', roles: 'team_user', channels }],
    };
    lines.push({ type: 'user', user });
  }
  for (let n = 1; n <= count; n++) {
    const post = { team: 'harbor', channel: 'town', user: n % 2 ? 'ines' : 'otto', message: `post ${n}` };
    lines.push({ type: 'post', post: { ...post, create_at: 1_600_000_000_000 + n * 1_000 } });
  }
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

export function zulipContents(count: number): Contents {
  const user = (id: number, full_name: string) => ({
    id,
    full_name,
    delivery_email: `u${id}@harbor.example`,
    email: `u${id}@harbor.example`,
    is_active: true,
    is_bot: false,
    role: 400,
  });
  const messages = Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    sender: (index % 2) + 1,
    recipient: 7,
    subject: 'cranes',
    content: `word ${index + 1}`,
    date_sent: 1_600_000_000 + index,
  }));
  return {
    'harbor/realm.json': {
      zerver_realm: [{ id: 1, string_id: 'harbor', name: 'Harbor' }],
      zerver_userprofile: [user(1, 'Ines'), user(2, 'Otto')],
      zerver_userprofile_mirrordummy: [],
      zerver_userprofile_crossrealm: [],
      zerver_stream: [{ id: 3, name: 'yard', description: '', invite_only: false, deactivated: false }],
      zerver_recipient: [{ id: 7, type: 2, type_id: 3 }],
      zerver_subscription: [1, 2].map((id) => ({ id, user_profile: id, recipient: 7, active: true })),
      zerver_reaction: [],
    },
    'harbor/messages-000001.json': { zerver_message: messages, zerver_usermessage: [] },
    'harbor/attachment.json': { zerver_attachment: [] },
    'harbor/uploads/records.json': [],
  };
}

function bytesOf(content: unknown): Buffer {
  if (Buffer.isBuffer(content)) return content;
  return Buffer.from(typeof content === 'string' ? content : JSON.stringify(content));
}

export async function zipped(contents: Contents): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(contents)) {
    const bytes = bytesOf(content);
    // A stream of zlib for each of a hundred thousand small files would take gigabytes.
    zip.addBuffer(bytes, name, { compress: bytes.length > 100 });
  }
  zip.end();
  const pieces: Buffer[] = [];
  for await (const piece of zip.outputStream as AsyncIterable<unknown>) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

export async function tarred(contents: Contents): Promise<Buffer> {
  const entries = Object.entries(contents).map(([name, content]) => {
    const body = new Uint8Array(bytesOf(content));
    return { header: { name, size: body.length, mtime: new Date(0) }, body };
  });
  return gzipSync(await packTar(entries));
}

export type Call = ReturnType<typeof callsAt>['call'];

export async function sendPart(call: Call, id: string, number: number, bytes: Buffer): Promise<number> {
  const { status, body } = await call<UploadUrl>('POST', `/v1/imports/${id}/parts`, { body: { number } });
  if (status !== 201) return status;
  const { url, headers } = body;
  const sent = await fetch(url, { method: 'PUT', headers, body: new Uint8Array(bytes) });
  await sent.text();
  return sent.status;
}

/** Uploads an archive and starts its import. Returns the id. */
export async function startImport(
  call: Call,
  source: string,
  archive: Buffer,
  options: object = {},
): Promise<string> {
  const sha256 = createHash('sha256').update(archive).digest('hex');
  const body = { source, size_bytes: archive.length, sha256, ...options };
  const created = await call<Import>('POST', '/v1/imports', { body });
  if (created.status !== 201) throw new Error(created.text);
  const { id, parts } = created.body;
  for (let number = 1; number <= parts!.count; number++) {
    const size = parts!.size_bytes;
    await sendPart(call, id, number, archive.subarray((number - 1) * size, number * size));
  }
  const started = await call('POST', `/v1/imports/${id}/actions/start`);
  if (started.status !== 200) throw new Error(started.text);
  return id;
}

export async function ended(call: Call, id: string): Promise<Import> {
  return until(
    async () => {
      const { body } = await call<Import>('GET', `/v1/imports/${id}`);
      return ['completed', 'failed', 'canceled'].includes(body.status) ? body : undefined;
    },
    { what: 'the end of the import' },
  );
}
