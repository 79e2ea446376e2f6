/** Writes exports of Slack of any size, a day at a time, as seeded chance has it. */

import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { Random } from '../../../test/support/random.ts';

export interface SlackSize {
  readonly seed: number;
  readonly people: number;
  readonly channels: number;
  /** In all channels together. */
  readonly messages: number;
  /** Whether some of what real exports have of odd things is in it. */
  readonly odd: boolean;
}

/** What the export contains, as its reader should count it. */
export interface SlackContents {
  readonly messages: number;
  readonly reactions: number;
  readonly files: number;
}

const PER_DAY = 500;
/** 2020-01-01 in seconds. */
const FIRST_DAY = 1_577_836_800;
const DAY = 86_400;
const WORDS = [
  'tide',
  'harbor',
  'rope',
  'pier',
  'anchor',
  'storm',
  'lantern',
  'gull',
  'mast',
  'crew',
  'chart',
  'buoy',
];
const EMOJIS = ['+1', 'wave', 'tada', 'heart', 'eyes', 'thumbsup::skin-tone-3'];

/** Writes the zip to `path`; the same size and seed give the same export. */
export async function writeSlackExport(path: string, size: SlackSize): Promise<SlackContents> {
  const random = new Random(size.seed);
  const written = { messages: 0, reactions: 0, files: 0 };
  const zip = new ZipFile();
  const add = (name: string, content: () => unknown) =>
    zip.addReadStreamLazy(
      name,
      { forceDosTimestamp: true, mtime: new Date('2000-01-01T00:00:00Z') },
      (take) => take(null, Readable.from([Buffer.from(JSON.stringify(content()))], { objectMode: false })),
    );
  const people = Array.from({ length: size.people }, (_, index) => `U${String(index).padStart(8, '0')}`);
  add('users.json', () => people.map((id, index) => personOf(id, index, size.odd)));
  const channels = Array.from({ length: size.channels }, (_, index) => `channel-${index}`);
  add('channels.json', () =>
    channels.map((name, index) => ({
      id: `C${String(index).padStart(8, '0')}`,
      name,
      created: FIRST_DAY,
      creator: people[0],
      is_archived: size.odd && index % 7 === 6,
      members: people.slice(0, 50),
    })),
  );
  for (const [index, name] of channels.entries()) {
    const share = Math.floor(size.messages / size.channels) + (index < size.messages % size.channels ? 1 : 0);
    const channel = new ChannelText(people, random, size.odd);
    for (let from = 0; from < share; from += PER_DAY) {
      const day = from / PER_DAY;
      const date = new Date((FIRST_DAY + day * DAY) * 1000).toISOString().slice(0, 10);
      const count = Math.min(PER_DAY, share - from);
      add(`${name}/${date}.json`, () => channel.day(FIRST_DAY + day * DAY, count, written));
    }
  }
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(path));
  return written;
}

function personOf(id: string, index: number, odd: boolean): object {
  return {
    id,
    team_id: 'T1',
    name: `person${index}`,
    deleted: odd && index % 10 === 9,
    is_bot: false,
    is_restricted: odd && index % 10 === 8,
    profile: {
      real_name: `Person ${index}`,
      ...(index % 3 === 0 && odd ? {} : { email: `person${index}@example.org` }),
    },
  };
}

/** What is said in one channel. */
class ChannelText {
  readonly #people: readonly string[];
  readonly #random: Random;
  readonly #odd: boolean;
  #root = '';

  constructor(people: readonly string[], random: Random, odd: boolean) {
    this.#people = people;
    this.#random = random;
    this.#odd = odd;
  }

  day(
    start: number,
    count: number,
    written: { messages: number; reactions: number; files: number },
  ): object[] {
    const random = this.#random;
    const step = Math.floor(DAY / (count + 1));
    return Array.from({ length: count }, (_, index) => {
      const ts = `${start + index * step}.${String(random.below(1_000_000)).padStart(6, '0')}`;
      const reply = this.#root !== '' && random.below(4) === 0;
      if (!reply && random.below(10) === 0) this.#root = ts;
      const message: Record<string, unknown> = {
        type: 'message',
        user: random.pick(this.#people),
        text: this.#text(),
        ts,
        ...(reply && this.#root !== ts ? { thread_ts: this.#root } : {}),
      };
      written.messages += 1;
      if (random.below(20) === 0) {
        written.reactions += 1;
        message.reactions = [{ name: random.pick(EMOJIS), users: [random.pick(this.#people)], count: 1 }];
      }
      if (this.#odd && random.below(50) === 0) this.#spoil(message, written);
      return message;
    });
  }

  #text(): string {
    const random = this.#random;
    const words = Array.from({ length: 5 + random.below(20) }, () => random.pick(WORDS));
    if (random.below(10) === 0) words.push(`<@${random.pick(this.#people)}>`);
    if (random.below(20) === 0) words.push('<https://example.org/?a=1&amp;b=2|a link>', ':wave:');
    return words.join(' ');
  }

  /** Makes of a message one of those that importers have failed at. */
  #spoil(message: Record<string, unknown>, written: { files: number }): void {
    const change: (() => void)[] = [
      () => Object.assign(message, { ts: 'NaN' }),
      () =>
        Object.assign(message, {
          user: `UGONE${this.#random.below(9)}`,
          user_profile: { real_name: 'Gone' },
        }),
      () =>
        Object.assign(message, {
          user: undefined,
          bot_id: 'B1',
          username: 'deploys',
          subtype: 'bot_message',
        }),
      () => Object.assign(message, { user: undefined }),
      () => Object.assign(message, { subtype: 'channel_join' }),
      () => Object.assign(message, { subtype: 'from_the_future' }),
      () => Object.assign(message, { text: '', blocks: [{ type: 'hologram' }] }),
      () => Object.assign(message, { thread_ts: '1500000000.000001' }),
      () => Object.assign(message, { reactions: null, files: null, edited: 'never' }),
      () => {
        written.files += 1;
        Object.assign(message, { files: [{ id: 'F1', name: 'x', mode: 'tombstone' }] });
      },
    ];
    this.#random.pick(change)();
  }
}
