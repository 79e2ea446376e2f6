import { seconds, wireTimeOrNull } from '../content/times.ts';
import { type Fields, fields, flag, idOf, list, text, whole } from '../content/values.ts';
import { nameOf, type Walk } from '../content/walk.ts';
import type { CONVERSATION_LISTS, DayFolder, Workspace } from './layout.ts';

type ListedAs = (typeof CONVERSATION_LISTS)[keyof typeof CONVERSATION_LISTS];

/** A pin of a conversation, by the `ts` of its message. */
export interface SlackPin {
  readonly by: string | null;
  readonly at: string | null;
}

/** One conversation with its content in an export. */
export interface SlackConversation {
  /** Id of the conversation; where several were joined, that of the first. */
  readonly ref: string;
  readonly parts: SlackPart[];
}

/** The content under one conversation id. */
interface SlackPart {
  readonly id: string;
  readonly files: readonly string[];
  readonly pins: ReadonlyMap<string, SlackPin>;
}

/** The conversations of an export, and the names of channels by their ids. */
export class SlackConversations {
  readonly all: SlackConversation[] = [];
  readonly #names = new Map<string, string>();
  /** Direct messages and groups by their members. */
  readonly #byMembers = new Map<string, Listed>();
  readonly #listed = new Map<string, Listed>();

  channelName(id: string): string | undefined {
    return this.#names.get(id);
  }

  /** Adds what a list such as channels.json lists. */
  add(values: unknown, as: ListedAs, workspace: Workspace, walk: Walk, where: string): void {
    const folders = new Map(workspace.conversations.map((folder) => [folder.name, folder]));
    for (const [index, value] of list(values).entries()) {
      const channel = fields(value);
      const id = idOf(channel.id);
      walk.meet('conversations');
      const place = `${where}[${index}]`;
      if (id === null) walk.skip('conversations', 'no_id', 'A conversation has no id.', place);
      else if (this.#names.has(id)) {
        walk.skip('conversations', 'duplicate', `The export lists ${id} twice.`, place);
      } else this.#addOne(id, channel, as, folders, walk, place);
    }
  }

  #addOne(
    id: string,
    channel: Fields,
    as: ListedAs,
    folders: ReadonlyMap<string, DayFolder>,
    walk: Walk,
    where: string,
  ): void {
    const name = text(channel.name);
    this.#names.set(id, name ?? id);
    const folder = this.#takeFolder([name, ...list(channel.previous_names).map(text), id], folders);
    const part = { id, files: folder?.files ?? [], pins: pinsOf(channel, walk, where) };
    const members = [
      ...new Set(
        list(channel.members)
          .map(idOf)
          .filter((it) => it !== null),
      ),
    ].sort();
    const key = as === 'direct' || as === 'group' ? members.join(' ') : '';
    const same = key === '' ? undefined : this.#byMembers.get(key);
    if (same !== undefined) {
      same.merged.push(id);
      same.conversation.parts.push(part);
      walk.note(
        'same_members',
        `${id} has the same members as ${same.conversation.ref}: one conversation.`,
        where,
      );
      return;
    }
    const conversation = { ref: id, parts: [part] };
    const listed = { conversation, merged: [], as, channel, members };
    this.all.push(conversation);
    this.#listed.set(id, listed);
    if (key !== '') this.#byMembers.set(key, listed);
  }

  #taken = new Set<DayFolder>();

  #takeFolder(
    names: readonly (string | null)[],
    folders: ReadonlyMap<string, DayFolder>,
  ): DayFolder | undefined {
    for (const name of names) {
      const folder = name === null ? undefined : folders.get(name);
      if (folder === undefined || this.#taken.has(folder)) continue;
      this.#taken.add(folder);
      return folder;
    }
    return undefined;
  }

  /** Adds the folders that no list names: the channel was deleted, or renamed during the export. */
  addUnlisted({ folder: workspace, conversations }: Workspace, walk: Walk): void {
    for (const folder of conversations) {
      if (this.#taken.has(folder)) continue;
      walk.meet('conversations');
      // Several workspaces of an organization may have a folder of the same name.
      const id = [folder.name, `${folder.name} (unlisted)`, `${workspace}${folder.name} (unlisted)`].find(
        (it) => !this.#names.has(it),
      );
      if (id === undefined) {
        walk.skip('conversations', 'duplicate', `The export lists ${folder.name} twice.`, folder.name);
        continue;
      }
      walk.note(
        'unlisted',
        `No list of the export has ${folder.name}: it became a private channel.`,
        folder.name,
      );
      const conversation = { ref: id, parts: [{ id, files: folder.files, pins: new Map() }] };
      this.all.push(conversation);
      this.#names.set(id, folder.name);
      this.#listed.set(id, {
        conversation,
        merged: [],
        as: 'private_channel',
        channel: { name: folder.name },
        members: [],
      });
    }
  }

  /** Gives the records of all conversations. */
  give(walk: Walk): void {
    for (const { conversation, merged, as, channel, members } of this.#listed.values()) {
      const kind = as === 'direct' || as === 'group' ? (members.length <= 2 ? 'direct' : 'group') : 'channel';
      const creator = idOf(channel.creator);
      walk.conversation({
        ref: conversation.ref,
        merged,
        kind,
        private: as !== 'channel',
        audience: 'internal',
        title: kind === 'channel' ? nameOf(text(channel.name), conversation.ref) : null,
        description: text(fields(channel.purpose).value) ?? text(fields(channel.topic).value),
        archived: flag(channel.is_archived),
        created_at: createdAt(channel.created),
        creator: creator !== null && kind === 'channel' ? creator : null,
        members: members.map((person) => ({
          person,
          role: person === creator && kind === 'channel' ? 'owner' : 'member',
        })),
      });
    }
  }
}

interface Listed {
  readonly conversation: SlackConversation;
  readonly merged: string[];
  readonly as: ListedAs;
  readonly channel: Fields;
  readonly members: readonly string[];
}

function pinsOf(channel: Fields, walk: Walk, where: string): ReadonlyMap<string, SlackPin> {
  const pins = new Map<string, SlackPin>();
  for (const value of list(channel.pins)) {
    const { id, type, user, created } = fields(value);
    walk.meet('pins');
    if (typeof id !== 'string' || (type !== undefined && type !== 'C')) {
      walk.skip('pins', 'not_a_message', 'What is pinned is no message.', where);
    } else if (pins.has(id)) walk.skip('pins', 'duplicate', `${id} is pinned twice.`, where);
    else pins.set(id, { by: idOf(user), at: wireTimeOrNull(seconds(created)) });
  }
  return pins;
}

/** Returns null for times before 2013, when Slack began. */
function createdAt(created: unknown): string | null {
  const value = whole(created);
  return value === null || value < FIRST ? null : wireTimeOrNull(seconds(value));
}

const FIRST = Date.UTC(2013, 0) / 1000;
