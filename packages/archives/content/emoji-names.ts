import { toEmoji } from '@parley/protocol/emoji.ts';
import { slackEmoji } from './slack-emoji.ts';

/** The emojis by their short names, as other chats write them between colons. */
export class EmojiNames {
  readonly #names: ReadonlyMap<string, string>;
  readonly #found = new Map<string, string | undefined>();

  private constructor(names: ReadonlyMap<string, string>) {
    this.#names = names;
  }

  /** Loads the table, which only imports need. */
  static async load(): Promise<EmojiNames> {
    EmojiNames.#loaded ??= import('gemoji').then(
      ({ nameToEmoji }) => new EmojiNames(new Map([...Object.entries(nameToEmoji), ...slackEmoji()])),
    );
    return EmojiNames.#loaded;
  }

  static #loaded: Promise<EmojiNames> | undefined;

  /**
   * Returns the emoji with a name such as `+1`, `wave::skin-tone-3` or `flag-fr`, in the form of
   * `toEmoji`; undefined for names that the workspace has made itself.
   */
  find(name: string): string | undefined {
    if (!this.#found.has(name)) {
      if (this.#found.size >= REMEMBERED) this.#found.clear();
      this.#found.set(name, this.#find(name));
    }
    return this.#found.get(name);
  }

  #find(name: string): string | undefined {
    const [base = '', tone] = name.split('::skin-tone-');
    const emoji = this.#base(base);
    if (emoji === undefined || tone === undefined) return emoji;
    const modifier = TONES[tone];
    return (modifier && toEmoji(withTone(emoji, modifier))) ?? emoji;
  }

  /** Returns the text with the emojis in place of the names that are known. */
  inText(text: string): string {
    if (!text.includes(':')) return text;
    return text.replace(NAME_IN_TEXT, (written, name: string) => this.find(name.toLowerCase()) ?? written);
  }

  #base(name: string): string | undefined {
    const named = [name, ...spellingsOf(name)].map((one) => this.#names.get(one));
    const emoji = flagOf(name) ?? named.find((one) => one !== undefined);
    return emoji === undefined ? undefined : toEmoji(emoji);
  }
}

/** Not within a word, a time or a URL: `10:30:00`, `http://host:80/`. */
const NAME_IN_TEXT = /(?<![\p{L}\p{N}:/]):([a-z0-9_+'-]{1,80}(?:::skin-tone-[2-6])?):(?![\p{N}/])/giu;

const REMEMBERED = 5_000;

/** The modifiers of Fitzpatrick types 1-2 to 6 by the number that Slack gives them. */
const TONES: Readonly<Record<string, string>> = {
  2: '\u{1F3FB}',
  3: '\u{1F3FC}',
  4: '\u{1F3FD}',
  5: '\u{1F3FE}',
  6: '\u{1F3FF}',
};

/** Puts the tone behind the first character, in place of its variation selector. */
function withTone(emoji: string, tone: string): string {
  const [first = '', ...rest] = emoji;
  return `${first}${tone}${rest.join('').replace(/^\uFE0F/, '')}`;
}

/** Returns gemoji's spellings of a name of Slack: `female-cook` is `woman_cook`. */
function spellingsOf(name: string): readonly string[] {
  const spelled = name.replaceAll('-', '_');
  const plain = spelled
    .replace(/^female_/, 'woman_')
    .replace(/^male_/, 'man_')
    .replace(/^flag_/, '');
  return [spelled, plain, plain.replace(/^((?:wo)?man)_(.+)$/, '$2_$1'), `family_${plain}`];
}

function flagOf(name: string): string | undefined {
  const [, country] = /^flag[-_]([a-z]{2})$/.exec(name) ?? [];
  return country && String.fromCodePoint(...[...country].map((letter) => letter.charCodeAt(0) + REGIONAL));
}

const REGIONAL = 0x1f1e6 - 'a'.charCodeAt(0);
