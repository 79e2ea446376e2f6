import { emailOf, givePeople, type ListedPerson } from '../content/people.ts';
import { fields, flag, idOf, list, text } from '../content/values.ts';
import type { Walk } from '../content/walk.ts';

/** The people of an export: names for mentions, and bots by the ids that their messages have. */
export class SlackPeople {
  readonly #mentions = new Map<string, string>();
  readonly #bots = new Map<string, string>();

  /** Gives the people of a list of users. */
  add(users: unknown, walk: Walk, where: string): void {
    const people: ListedPerson[] = [];
    for (const [index, value] of list(users).entries()) {
      const person = personOf(value);
      if (person === undefined) {
        walk.meet('people');
        walk.skip('people', 'no_id', 'A person has no id.', `${where}[${index}]`);
        continue;
      }
      people.push(person);
      const bot = idOf(fields(fields(value).profile).bot_id);
      if (bot !== null) this.#bots.set(bot, person.ref);
    }
    for (const [ref, name] of givePeople(people, walk, where)) this.#mentions.set(ref, name);
  }

  mention(ref: string): string | undefined {
    return this.#mentions.get(ref);
  }

  /** Returns the person behind a bot, or the bot's own id. */
  ofBot(bot: string): string {
    return this.#bots.get(bot) ?? bot;
  }
}

function personOf(value: unknown): ListedPerson | undefined {
  const user = fields(value);
  const profile = fields(user.profile);
  const ref = idOf(user.id);
  if (ref === null) return undefined;
  const guest = flag(user.is_restricted) || flag(user.is_ultra_restricted) || flag(user.is_stranger);
  return {
    ref,
    kind: flag(user.is_bot) || ref === 'USLACKBOT' ? 'bot' : guest ? 'guest' : 'user',
    name: text(profile.display_name) ?? text(profile.real_name) ?? text(user.real_name) ?? text(user.name),
    handle: text(user.name),
    email: emailOf(text(profile.email)),
    email_verified: user.is_email_confirmed !== false,
    deactivated: flag(user.deleted),
  };
}
