/**
 * Writes bulk exports of Mattermost of any size, in the order of no time, as seeded chance has it.
 */

import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Random } from '../../../test/support/random.ts';

export interface MattermostSize {
  readonly seed: number;
  readonly people: number;
  readonly channels: number;
  /** Posts and replies together. */
  readonly messages: number;
}

const TEAM = 'harbor';
/** 2020-01-01 in milliseconds. */
const START = 1_577_836_800_000;
const WORDS = [
  'tide',
  'harbor',
  'rope',
  'pier',
  'anchor',
  'storm',
  '@person1',
  '~channel-0',
  ':wave:',
  '**mast**',
];

/** Writes the JSONL file to `path`; the same size and seed give the same export. */
export async function writeMattermostExport(path: string, size: MattermostSize): Promise<void> {
  await pipeline(Readable.from(pages(size)), createWriteStream(path));
}

function* pages(size: MattermostSize): Generator<string> {
  let page: string[] = [];
  for (const line of linesOf(size)) {
    page.push(`${JSON.stringify(line)}\n`);
    if (page.length < 1_000) continue;
    yield page.join('');
    page = [];
  }
  yield page.join('');
}

function* linesOf({ seed, people, channels, messages }: MattermostSize): Generator<object> {
  const random = new Random(seed);
  const names = Array.from({ length: channels }, (_, index) => `channel-${index}`);
  yield { type: 'version', version: 1 };
  yield { type: 'team', team: { name: TEAM, display_name: 'Harbor', type: 'O' } };
  for (const name of names) {
    yield { type: 'channel', channel: { team: TEAM, name, display_name: `Channel ${name}`, type: 'O' } };
  }
  for (let index = 0; index < people; index += 1) {
    const memberships = names.map((name) => ({ name, roles: 'channel_user', last_viewed_at: START + index }));
    const user = { username: `person${index}`, email: `person${index}@example.org` };
    yield { type: 'user', user: { ...user, teams: [{ name: TEAM, channels: memberships }] } };
  }
  const said = (at: number) => ({
    user: `person${random.below(people)}`,
    message: Array.from({ length: 5 + random.below(20) }, () => random.pick(WORDS)).join(' '),
    create_at: at,
  });
  for (let written = 0; written < messages; ) {
    const at = START + random.below(2 ** 31) * 10;
    const replies = Array.from({ length: Math.min(random.below(4), messages - written - 1) }, (_, index) =>
      said(at + (index + 1) * 60_000),
    );
    yield { type: 'post', post: { team: TEAM, channel: random.pick(names), ...said(at), replies } };
    written += 1 + replies.length;
  }
}
