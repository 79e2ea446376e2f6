import { emailOf, givePeople, type ListedPerson } from '../content/people.ts';
import { seconds, wireTimeOrNull } from '../content/times.ts';
import { type Fields, fields, flag, idOf, list, text } from '../content/values.ts';
import { nameOf, type Walk } from '../content/walk.ts';

const PERSONAL = 1;
const STREAM = 2;
const GROUP = 3;

export interface ZulipConversation {
  readonly ref: string;
  readonly group: number;
  /** Whether its messages have topics. */
  readonly topics: boolean;
}

/** The people, channels and direct messages of realm.json. */
export class ZulipDirectory {
  readonly #realm: Fields;
  readonly #mentions = new Map<string, string>();
  readonly #byFullName = new Map<string, string>();
  /** The members of a recipient, by its id. */
  readonly #members = new Map<string, string[]>();
  readonly #recipients = new Map<string, { readonly type: unknown; readonly of: string }>();
  readonly #conversations = new Map<string, ZulipConversation>();
  readonly #byGroup: ZulipConversation[] = [];

  constructor(realm: Fields) {
    this.#realm = realm;
  }

  ofGroup(group: number): ZulipConversation {
    return this.#byGroup[group]!;
  }

  mention(ref: string): string | undefined {
    return this.#mentions.get(ref);
  }

  /** Returns the person with the full name, unless several have it. */
  named(fullName: string): string | undefined {
    return this.#byFullName.get(fullName);
  }

  givePeople(walk: Walk, where: string): void {
    const people: ListedPerson[] = [];
    const add = (value: unknown, ofService: boolean, mirrored = false) => {
      const person = personOf(fields(value), ofService, mirrored);
      if (person !== undefined) people.push(person);
      else {
        walk.meet('people');
        walk.skip('people', 'no_id', 'A person has no id.', where);
      }
    };
    for (const user of list(this.#realm.zerver_userprofile)) add(user, false);
    for (const user of list(this.#realm.zerver_userprofile_mirrordummy)) add(user, false, true);
    for (const user of list(this.#realm.zerver_userprofile_crossrealm)) add(user, true);
    for (const [ref, name] of givePeople(people, walk, where)) this.#mentions.set(ref, name);
    const ambiguous = new Set<string>();
    for (const { ref, name } of people) {
      if (name === null || ambiguous.has(name)) continue;
      if (this.#byFullName.has(name)) {
        ambiguous.add(name);
        this.#byFullName.delete(name);
      } else this.#byFullName.set(name, ref);
    }
  }

  giveConversations(walk: Walk, where: string): void {
    for (const value of list(this.#realm.zerver_subscription)) {
      const { recipient, user_profile, active } = fields(value);
      const [id, person] = [idOf(recipient), idOf(user_profile)];
      if (id === null || person === null || active === false) continue;
      const members = this.#members.get(id);
      if (members === undefined) this.#members.set(id, [person]);
      else if (!members.includes(person)) members.push(person);
    }
    const recipientOf = new Map<string, string>();
    for (const value of list(this.#realm.zerver_recipient)) {
      const { id, type, type_id } = fields(value);
      const [recipient, of] = [idOf(id), idOf(type_id)];
      if (recipient === null || of === null) continue;
      this.#recipients.set(recipient, { type, of });
      recipientOf.set(`${type} ${of}`, recipient);
    }
    for (const value of list(this.#realm.zerver_stream)) {
      const stream = fields(value);
      const id = idOf(stream.id);
      walk.meet('conversations');
      if (id === null || this.#conversations.has(`stream:${id}`)) {
        const reason = id === null ? 'no_id' : 'duplicate';
        walk.skip(
          'conversations',
          reason,
          `A channel has ${id === null ? 'no id' : 'the id of another'}.`,
          where,
        );
      } else
        this.#giveStream(id, stream, this.#members.get(recipientOf.get(`${STREAM} ${id}`) ?? '') ?? [], walk);
    }
    const groups = [...list(this.#realm.zerver_huddle), ...list(this.#realm.zerver_directmessagegroup)];
    for (const value of groups) {
      const id = idOf(fields(value).id);
      const members = this.#members.get(recipientOf.get(`${GROUP} ${id}`) ?? '') ?? [];
      if (members.length > 0) this.#direct(members, walk);
    }
  }

  /** Returns the conversation of the message, and gives a direct one when first met. */
  conversationOf({ recipient: value, sender }: Fields, walk: Walk, where: string): ZulipConversation {
    const id = idOf(value) ?? 'none';
    const recipient = this.#recipients.get(id);
    if (recipient?.type === STREAM) {
      const known = this.#conversations.get(`stream:${recipient.of}`);
      if (known !== undefined) return known;
    }
    if (recipient?.type === PERSONAL) return this.#direct([recipient.of, idOf(sender) ?? recipient.of], walk);
    const members = this.#members.get(id) ?? [];
    if (recipient?.type === GROUP && members.length > 0) return this.#direct(members, walk);
    const ref = recipient?.type === STREAM ? `stream:${recipient.of}` : `recipient:${id}`;
    const known = this.#conversations.get(ref);
    if (known !== undefined) return known;
    walk.meet('conversations');
    walk.note('unlisted', `realm.json does not say what ${ref} is: it became a private channel.`, where);
    return this.#give(
      ref,
      recipient?.type === STREAM,
      {
        kind: 'channel',
        private: true,
        title: ref,
        description: null,
        archived: false,
        created_at: null,
        creator: null,
        members: [],
      },
      walk,
    );
  }

  #giveStream(id: string, stream: Fields, members: readonly string[], walk: Walk): void {
    this.#give(
      `stream:${id}`,
      true,
      {
        kind: 'channel',
        private: flag(stream.invite_only),
        title: nameOf(text(stream.name), id),
        description: text(stream.description),
        archived: flag(stream.deactivated),
        created_at: wireTimeOrNull(seconds(stream.date_created)),
        creator: idOf(stream.creator),
        members,
      },
      walk,
    );
  }

  #direct(people: readonly string[], walk: Walk): ZulipConversation {
    const members = [...new Set(people)].sort();
    const ref = `direct:${members.join('-')}`;
    const known = this.#conversations.get(ref);
    if (known !== undefined) return known;
    walk.meet('conversations');
    return this.#give(
      ref,
      false,
      {
        kind: members.length <= 2 ? 'direct' : 'group',
        private: true,
        title: null,
        description: null,
        archived: false,
        created_at: null,
        creator: null,
        members,
      },
      walk,
    );
  }

  #give(
    ref: string,
    topics: boolean,
    {
      members,
      ...conversation
    }: Omit<Parameters<Walk['conversation']>[0], 'ref' | 'merged' | 'audience' | 'members'> & {
      readonly members: readonly string[];
    },
    walk: Walk,
  ): ZulipConversation {
    const given = { ref, group: this.#byGroup.length, topics };
    this.#byGroup.push(given);
    this.#conversations.set(ref, given);
    walk.conversation({
      ...conversation,
      ref,
      merged: [],
      audience: 'internal',
      members: members.map((person) => ({
        person,
        role: person === conversation.creator ? 'owner' : 'member',
      })),
    });
    return given;
  }
}

/** Guests have this role. */
const GUEST = 600;

function personOf(user: Fields, ofService: boolean, mirrored: boolean): ListedPerson | undefined {
  const ref = idOf(user.id);
  if (ref === null) return undefined;
  const email = emailOf(text(user.delivery_email) ?? text(user.email));
  return {
    ref,
    kind: ofService || flag(user.is_bot) ? 'bot' : user.role === GUEST ? 'guest' : 'user',
    name: text(user.full_name) ?? email?.slice(0, email.indexOf('@')) ?? null,
    handle: null,
    email: ofService ? null : email,
    email_verified: !flag(user.is_mirror_dummy) && !mirrored,
    deactivated: user.is_active === false || flag(user.is_mirror_dummy) || mirrored,
  };
}
