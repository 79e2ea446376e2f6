import { createHash } from 'node:crypto';
import { emailOf, givePeople, type ListedPerson } from '../content/people.ts';
import { millis, wireTime } from '../content/times.ts';
import { type Fields, fields, idOf, list, text, whole } from '../content/values.ts';
import { nameOf, type Walk } from '../content/walk.ts';
import type { ArchivedMember } from '../record.ts';

interface Channel {
  readonly ref: string;
  /** Its place among the conversations, by which messages are sorted. */
  readonly group: number;
  readonly kind: 'channel' | 'group' | 'direct';
  readonly title: string | null;
  readonly description: string | null;
  readonly private: boolean;
  readonly archived: boolean;
  readonly members: Map<string, ArchivedMember['role']>;
}

/** People and conversations of a bulk export, which are known only at its end. */
export class MattermostDirectory {
  readonly #people: ListedPerson[] = [];
  readonly #channels = new Map<string, Channel>();
  readonly #byGroup: Channel[] = [];
  readonly #positions: { readonly ref: string; readonly person: string; readonly at: string }[] = [];
  #names = new Map<string, string>();
  readonly #teams = new Map<string, string>();

  /** Returns the name after the `@` of a user, in whatever case it is written. */
  mention(username: string): string | undefined {
    return this.#names.get(username.toLowerCase());
  }

  ofGroup(group: number): string {
    return this.#byGroup[group]!.ref;
  }

  channelTitle(team: string, name: string): string | null {
    return this.#channels.get(`${team}/${name}`)?.title ?? null;
  }

  addTeam(team: Fields): void {
    const name = idOf(team.name);
    if (name !== null) this.#teams.set(name, text(team.display_name) ?? name);
  }

  addUser(user: Fields, walk: Walk, where: string, bot = false): void {
    const username = idOf(user.username)?.toLowerCase();
    if (username === undefined) {
      walk.meet('people');
      walk.skip('people', 'no_id', 'A user has no username.', where);
      return;
    }
    const full = [text(user.first_name), text(user.last_name)].filter(Boolean).join(' ');
    this.#people.push({
      ref: username,
      kind: bot ? 'bot' : /\bsystem_guest\b/.test(text(user.roles) ?? '') ? 'guest' : 'user',
      name: text(user.nickname) ?? text(full) ?? text(user.display_name) ?? username,
      handle: username,
      email: emailOf(text(user.email)),
      email_verified: user.email_verified !== false,
      deactivated: (whole(user.delete_at) ?? 0) > 0,
    });
    for (const team of list(user.teams).map(fields)) {
      for (const membership of list(team.channels).map(fields)) {
        const name = idOf(membership.name);
        const teamName = idOf(team.name);
        if (name === null || teamName === null) continue;
        const channel = this.#channel(teamName, name, walk, where);
        const admin = /\bchannel_admin\b/.test(text(membership.roles) ?? '');
        channel.members.set(username, admin ? 'admin' : 'member');
        this.#addPosition(channel.ref, username, membership.last_viewed_at, walk);
      }
    }
  }

  addChannel(channel: Fields, walk: Walk, where: string): void {
    const [team, name] = [idOf(channel.team), idOf(channel.name)];
    walk.meet('conversations');
    if (team === null || name === null) {
      walk.skip('conversations', 'no_id', 'A channel has no name or no team.', where);
      return;
    }
    const ref = `${team}/${name}`;
    if (this.#channels.has(ref)) {
      walk.skip('conversations', 'duplicate', `The archive lists ${ref} twice.`, where);
      return;
    }
    this.#add({
      ref,
      kind: 'channel',
      title: nameOf(text(channel.display_name), name),
      description: text(channel.purpose) ?? text(channel.header),
      private: channel.type !== 'O',
      archived: (whole(channel.deleted_at) ?? whole(channel.delete_at) ?? 0) > 0,
      members: new Map(),
    });
  }

  addDirectChannel(channel: Fields, walk: Walk, where: string): void {
    const participants = list(channel.participants).map(fields);
    const names = participants.length > 0 ? participants.map((it) => it.username) : list(channel.members);
    walk.meet('conversations');
    const members = membersOf(names);
    if (members.length === 0) {
      walk.skip('conversations', 'no_id', 'A direct channel has no members.', where);
      return;
    }
    const ref = directRef(members);
    if (this.#channels.has(ref)) {
      walk.skip('conversations', 'duplicate', 'The archive lists a direct channel twice.', where);
      return;
    }
    this.#addDirect(ref, members, text(channel.header));
    for (const { username, last_viewed_at: at } of participants) {
      const person = idOf(username)?.toLowerCase();
      if (person !== undefined) this.#addPosition(ref, person, at, walk);
    }
  }

  /** Returns the group of the channel that a post is in, or undefined if it names none. */
  groupOfPost(post: Fields, walk: Walk, where: string): number | undefined {
    const [team, name] = [idOf(post.team), idOf(post.channel)];
    return team === null || name === null ? undefined : this.#channel(team, name, walk, where).group;
  }

  groupOfDirectPost(post: Fields, walk: Walk): number | undefined {
    const members = membersOf(list(post.channel_members));
    if (members.length === 0) return undefined;
    const ref = directRef(members);
    const known = this.#channels.get(ref);
    if (known !== undefined) return known.group;
    walk.meet('conversations');
    return this.#addDirect(ref, members, null).group;
  }

  givePeople(walk: Walk, where: string): void {
    this.#names = givePeople(this.#people, walk, where);
  }

  giveConversations(walk: Walk): void {
    for (const { group, members, title, ...channel } of this.#byGroup) {
      walk.conversation({
        ...channel,
        title,
        merged: [],
        audience: 'internal',
        created_at: null,
        creator: null,
        members: [...members].map(([person, role]) => ({ person, role })),
      });
    }
  }

  giveReadPositions(walk: Walk): void {
    for (const { ref, person, at } of this.#positions) {
      walk.readPosition({ conversation: ref, person, through: { at } });
    }
  }

  /** Returns the channel; a channel that the archive does not list becomes private. */
  #channel(team: string, name: string, walk: Walk, where: string): Channel {
    const ref = `${team}/${name}`;
    const known = this.#channels.get(ref);
    if (known !== undefined) return known;
    walk.meet('conversations');
    walk.note('unlisted', `The archive does not list the channel ${ref}: it became a private one.`, where);
    return this.#add({
      ref,
      kind: 'channel',
      title: nameOf(name, ref),
      description: null,
      private: true,
      archived: false,
      members: new Map(),
    });
  }

  #addDirect(ref: string, members: readonly string[], description: string | null): Channel {
    return this.#add({
      ref,
      kind: members.length <= 2 ? 'direct' : 'group',
      title: null,
      description,
      private: true,
      archived: false,
      members: new Map(members.map((person) => [person, 'member'])),
    });
  }

  #add(channel: Omit<Channel, 'group'>): Channel {
    const added = { ...channel, group: this.#byGroup.length };
    this.#byGroup.push(added);
    this.#channels.set(added.ref, added);
    return added;
  }

  #addPosition(ref: string, person: string, value: unknown, walk: Walk): void {
    const at = millis(value);
    if (at === null) return;
    walk.meet('read_positions');
    this.#positions.push({ ref, person, at: wireTime(at) });
  }
}

function membersOf(names: readonly unknown[]): string[] {
  return [...new Set(names.map((it) => idOf(it)?.toLowerCase()).filter((it) => it !== undefined))].sort();
}

function directRef(members: readonly string[]): string {
  return `direct:${createHash('sha256').update(members.join(',')).digest('hex').slice(0, 24)}`;
}
