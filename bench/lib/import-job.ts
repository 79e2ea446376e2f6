import type { Import } from '@parley/protocol/resources/import.ts';
import type { UploadUrl } from '@parley/protocol/resources/upload.ts';

/** Calls an endpoint and returns its body; rejects unless it succeeds. */
export type Call = <T>(method: string, path: string, body?: object) => Promise<T>;

/**
 * Returns a bulk export of Mattermost with one channel. The channel and the times of its messages
 * depend on `round`, so that no earlier import has written them.
 */
export function mattermostExport(messages: number, round: number): Buffer {
  const name = `channel-${round}`;
  const lines: object[] = [
    { type: 'version', version: 1 },
    { type: 'team', team: { name: 'harbor', display_name: 'Harbor', type: 'O' } },
    { type: 'channel', channel: { team: 'harbor', name, display_name: name, type: 'O' } },
  ];
  for (const username of PEOPLE) {
    const channels = [{ name, roles: 'channel_user' }];
    const teams = [{ name: 'harbor', roles: 'team_user', channels }];
    lines.push({ type: 'user', user: { username, email: `${username}@harbor.example`, teams } });
  }
  for (let n = 0; n < messages; n++) {
    const message = `A message of some length, as they are in channels, with the number ${n}`;
    const post = { team: 'harbor', channel: name, user: PEOPLE[n % PEOPLE.length], message };
    lines.push({ type: 'post', post: { ...post, create_at: START_MS + n * 1_000 } });
  }
  return Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

const PEOPLE = Array.from({ length: 20 }, (_, index) => `person${index}`);
const START_MS = Date.UTC(2020);

/** Uploads an archive of Mattermost. Returns the id of its import, which is not started yet. */
export async function uploadImport(call: Call, archive: Buffer): Promise<string> {
  const size_bytes = archive.length;
  const { id, parts } = await call<Import>('POST', '/v1/imports', { source: 'mattermost', size_bytes });
  for (let number = 1; number <= parts!.count; number++) {
    const { url, headers } = await call<UploadUrl>('POST', `/v1/imports/${id}/parts`, { number });
    const body = new Uint8Array(
      archive.subarray((number - 1) * parts!.size_bytes, number * parts!.size_bytes),
    );
    const sent = await fetch(url, { method: 'PUT', headers, body });
    if (!sent.ok) throw new Error(`a part was answered with ${sent.status}: ${await sent.text()}`);
  }
  return id;
}
