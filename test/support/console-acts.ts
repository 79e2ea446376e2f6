import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { answered } from './answered.ts';
import type { TestNode } from './node.ts';
import type { Random } from './random.ts';

/** A conversation as its actors know it. */
interface Known {
  readonly id: string;
  readonly isCase: boolean;
  readonly messages: Message[];
  readonly drafts: string[];
  readonly scheduled: string[];
  isDeleted: boolean;
}

interface Message {
  readonly id: string;
  readonly sequence: number;
  readonly by: Caller;
}

/** The owner of a request's credential. */
type Caller = 'key' | 'ada' | 'grace' | 'vera' | 'customer';

export interface ConsoleActsOptions {
  /** The node, or its replacement. */
  readonly node: () => TestNode;
  /** The person whose page is watched. */
  readonly person: 'ada' | 'grace';
  readonly random: Random;
}

/** Random acts of other people, and of the person on other devices, over REST. */
export class ConsoleActs {
  /** Acts that were accepted, by kind. */
  readonly made: Record<string, number> = {};
  /** Acts that the server refused, by kind: a random act may be impossible. */
  readonly refused: Record<string, number> = {};
  /** The conversation that the page shows, in which most acts are. */
  focus: string | null = null;
  readonly person: 'ada' | 'grace';
  /** The author of most messages that the person reads. */
  readonly other: 'ada' | 'grace';
  readonly random: Random;
  readonly known: Known[] = [];
  readonly #node: () => TestNode;
  #count = 0;

  constructor({ node, person, random }: ConsoleActsOptions) {
    this.#node = node;
    this.person = person;
    this.other = person === 'ada' ? 'grace' : 'ada';
    this.random = random;
  }

  /** Makes the first conversations, with messages in each. */
  async begin(): Promise<void> {
    const { conversations } = this.#node().demo;
    this.#know(conversations.group, false);
    this.#know(conversations.direct, false);
    this.#know(conversations.case, true);
    for (let n = 0; n < 3; n++) await this.create();
    for (const known of this.known) for (let n = 0; n < 3; n++) await this.send(known);
  }

  /** Does one thing. Returns its description for the history. */
  async act(): Promise<string> {
    const open = this.known.find(({ id }) => id === this.focus);
    const known = open !== undefined && this.random.next() < 0.6 ? open : this.random.pick(this.known);
    // Draws people's usual acts more often.
    const kinds = Object.keys(ACTS);
    const kind = this.random.next() < 0.4 ? kinds[this.random.below(OFTEN)]! : this.random.pick(kinds);
    this.#count += 1;
    try {
      const did = await ACTS[kind]!(this, known);
      if (did === undefined) return `${kind}: nothing to do`;
      this.made[kind] = (this.made[kind] ?? 0) + 1;
      return `${kind} in ${known.id}: ${typeof did === 'string' ? did : ((did as { id?: string }).id ?? '')}`;
    } catch (error) {
      const { message } = error as Error;
      if (!/ is answered 4\d\d/.test(message)) throw error;
      this.refused[kind] = (this.refused[kind] ?? 0) + 1;
      return `${kind} in ${known.id}, refused: ${/"code": ?"(\w+)"/.exec(message)?.[1]}`;
    }
  }

  /** Returns a text that no other act has. */
  text(word: string): string {
    return `${word} ${this.#count}`;
  }

  idOf(name: 'ada' | 'grace' | 'vera'): string {
    return this.#node().demo.users[name].id;
  }

  ask(caller: Caller, method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const { demo } = this.#node();
    const credential = { key: demo.api_key, customer: demo.customer.access_token };
    const token =
      caller === 'key' || caller === 'customer' ? credential[caller] : demo.users[caller].access_token;
    return answered(() => this.#node().at(NEWEST_VERSION), {
      method,
      path: `/v1/messaging/${path}`,
      body,
      token,
    });
  }

  async send(known: Known, fields: object = {}, by: Caller = this.other): Promise<string> {
    const { id, sequence } = await this.ask(by, 'POST', `conversations/${known.id}/messages`, {
      body: this.text('message'),
      client_message_id: `acts-${this.#count}-${this.random.next()}`,
      ...fields,
    });
    if (typeof sequence === 'number') known.messages.push({ id: String(id), sequence, by });
    known.messages.splice(0, known.messages.length - MOST_MESSAGES);
    return String(id);
  }

  async create(): Promise<string> {
    const isCase = this.known.length % 3 === 0;
    const member = { type: 'user', actor_id: this.idOf(this.person) };
    const customer = {
      type: 'customer',
      name: `Customer ${this.#count}`,
      email: `${this.#count}@customers.example`,
    };
    const { id } = await this.ask(this.other, 'POST', 'conversations', {
      type: 'group',
      audience: isCase ? 'customer' : 'internal',
      ...(this.random.next() < 0.7 && { title: this.text('Conversation') }),
      participants: [member, isCase ? customer : { type: 'user', actor_id: this.idOf('vera') }],
    });
    this.#know(String(id), isCase);
    return String(id);
  }

  /** Does something with the conversation. */
  on(by: Caller, { id }: Known, action: string, body: object = {}) {
    return this.ask(by, 'POST', `conversations/${id}/actions/${action}`, body);
  }

  /** Does something with one of the newest messages, if there is any. */
  onMessage(by: Caller, { messages }: Known, action: string, body: object = {}) {
    if (messages.length === 0) return undefined;
    return this.ask(by, 'POST', `messages/${this.random.pick(messages).id}/actions/${action}`, body);
  }

  /** Changes the reactions to one of the newest messages. */
  reaction(method: 'PUT' | 'DELETE', { messages }: Known) {
    if (messages.length === 0) return undefined;
    const [by, emoji] = [
      this.random.pick([this.other, this.person, 'vera'] as const),
      this.random.pick(EMOJIS),
    ];
    const path = `messages/${this.random.pick(messages).id}/reactions/${encodeURIComponent(emoji)}`;
    return this.ask(by, method, path);
  }

  /** Changes a member by what it is in the conversation. */
  async member(by: Caller, { id }: Known, actorId: string, method: 'PATCH' | 'DELETE', body?: object) {
    const { participants } = await this.ask('key', 'GET', `conversations/${id}?include[]=participants`);
    const found = (participants as { id: string; actor_id: string }[]).find(
      (one) => one.actor_id === actorId,
    );
    return found && this.ask(by, method, `conversations/${id}/participants/${found.id}`, body);
  }

  change({ id }: Known, body: object) {
    return this.ask(this.other, 'PATCH', `conversations/${id}`, body);
  }

  #know(id: string, isCase: boolean): void {
    this.known.push({ id, isCase, messages: [], drafts: [], scheduled: [], isDeleted: false });
  }
}

/** Maximum number of conversations, all of which the list of the page has. */
const MOST_KNOWN = 14;
/** Number of a conversation's newest messages that acts may be about. */
const MOST_MESSAGES = 12;
const EMOJIS = ['👍', '🎉', '👀'];

/** Returns undefined if there is nothing to act on. */
type Act = (acts: ConsoleActs, known: Known) => Promise<unknown> | undefined;

/** Acts by name; the first are done more often. */
const ACTS: Readonly<Record<string, Act>> = {
  send: (acts, known) => acts.send(known),
  mention: (acts, known) =>
    acts.send(known, { body: acts.text(`@${acts.person} look`), mentions: [acts.idOf(acts.person)] }),
  reply: (acts, known) => {
    const [original] = known.messages.slice(-1 - acts.random.below(4));
    return original && acts.send(known, { reply_to_message_id: original.id });
  },
  'answer the customer': (acts, known) =>
    known.isCase ? acts.send(known, { audience: 'customer' }) : undefined,
  edit: (acts, { messages }) => {
    if (messages.length === 0) return undefined;
    const { id, by } = acts.random.pick(messages);
    return acts.ask(by, 'PATCH', `messages/${id}`, { body: acts.text('edited') });
  },
  react: (acts, known) => acts.reaction('PUT', known),
  // An archived, deleted or left conversation allows little else.
  'bring back': async (acts, known) => {
    if (known.isDeleted) await acts.on('key', known, 'restore');
    known.isDeleted = false;
    await acts.ask('key', 'PATCH', `conversations/${known.id}`, { status: 'active' });
    const member = { type: 'user', actor_id: acts.idOf(acts.person) };
    return acts.ask('key', 'POST', `conversations/${known.id}/participants`, member);
  },
  'write as the customer': (acts) => acts.send(acts.known[2]!, {}, 'customer'),
  'send from elsewhere': (acts, known) => acts.send(known, {}, acts.person),
  'take a reaction back': (acts, known) => acts.reaction('DELETE', known),
  delete: (acts, { messages }) => {
    const [gone] = messages.splice(acts.random.below(messages.length), 1);
    return gone && acts.ask(gone.by, 'DELETE', `messages/${gone.id}`);
  },
  pin: (acts, known) => acts.onMessage(acts.other, known, acts.random.pick(['pin', 'pin', 'unpin'])),
  redact: (acts, known) => acts.onMessage('key', known, 'redact', { reason: 'It is private.' }),
  'propose a draft': async (acts, known) => {
    if (!known.isCase) return undefined;
    const draft = { mode: 'draft', channel: 'message', body: acts.text('draft') };
    const by = acts.random.pick([acts.person, acts.other]);
    const { id } = await acts.ask(by, 'POST', `conversations/${known.id}/messages`, draft);
    known.drafts.push(String(id));
    return id;
  },
  'approve a draft': (acts, { drafts }) => {
    const [id] = drafts.splice(0, 1);
    return id === undefined ? undefined : acts.ask(acts.other, 'POST', `messages/${id}/actions/approve`, {});
  },
  'reject a draft': (acts, { drafts }) => {
    const [id] = drafts.splice(-1);
    const reason = acts.text('No');
    return id === undefined
      ? undefined
      : acts.ask(acts.other, 'POST', `messages/${id}/actions/reject`, { reason });
  },
  schedule: async (acts, known) => {
    const ms = acts.random.pick([2_000, 5_000, 3_600_000, 7_200_000]);
    const scheduled_at = new Date(Date.now() + ms).toISOString();
    known.scheduled.push(
      await acts.send(known, { scheduled_at }, acts.random.pick([acts.person, acts.other])),
    );
    return `in ${ms} ms`;
  },
  'cancel a schedule': (acts, { scheduled }) => {
    const [id] = scheduled.splice(-1);
    return id === undefined ? undefined : acts.ask('key', 'POST', `messages/${id}/actions/cancel`, {});
  },
  'send a schedule now': (acts, { scheduled }) => {
    const [id] = scheduled.splice(0, 1);
    return id === undefined ? undefined : acts.ask('key', 'POST', `messages/${id}/actions/send-now`, {});
  },
  'read elsewhere': (acts, known) => read(acts, known, 'mark-read', acts.person),
  'mark unread elsewhere': (acts, known) => read(acts, known, 'mark-unread', acts.person),
  'read as another': (acts, known) => read(acts, known, 'mark-read', acts.random.pick([acts.other, 'vera'])),
  'read all notifications': (acts) =>
    acts.ask(acts.person, 'POST', 'notifications/actions/mark-all', { status: 'read' }),
  mute: (acts, known) =>
    acts.member(acts.person, known, acts.idOf(acts.person), 'PATCH', {
      notifications: acts.random.pick(['muted', 'unmuted']),
    }),
  snooze: (acts, known) => acts.on(acts.person, known, acts.random.pick(['snooze', 'unsnooze', 'unsnooze'])),
  hide: (acts, known) => acts.on(acts.person, known, acts.random.pick(['hide', 'unhide', 'unhide'])),
  archive: (acts, known) =>
    acts.change(known, { status: acts.random.pick(['archived', 'active', 'active']) }),
  rename: (acts, known) => acts.change(known, { title: acts.text('Renamed') }),
  'move the case': (acts, known) =>
    known.isCase ? acts.change(known, { workflow_status: acts.random.pick(LANES) }) : undefined,
  assign: (acts, known) =>
    known.isCase
      ? acts.change(known, { assignee_id: acts.random.pick([acts.idOf(acts.person), null]) })
      : undefined,
  'add a member': (acts, { id }) => {
    const actor_id = acts.idOf(acts.random.pick([acts.person, acts.person, 'vera']));
    return acts.ask('key', 'POST', `conversations/${id}/participants`, { type: 'user', actor_id });
  },
  'remove a member': (acts, known) =>
    acts.member('key', known, acts.idOf(acts.random.pick([acts.person, 'vera', 'vera', 'vera'])), 'DELETE'),
  'begin a conversation': (acts) => (acts.known.length < MOST_KNOWN ? acts.create() : undefined),
  hold: (acts, known) => {
    const legal_hold = acts.random.pick(['held', 'released', 'released']);
    return acts.on('key', known, 'set-legal-hold', { legal_hold, reason: acts.text('Matter') });
  },
  type: (acts, known) => acts.on(acts.other, known, 'typing', { state: acts.random.pick(['start', 'stop']) }),
  'delete or restore': async (acts, known) => {
    const gone = acts.known.find(({ isDeleted }) => isDeleted);
    const did =
      gone === undefined
        ? await acts.ask('key', 'DELETE', `conversations/${known.id}`)
        : await acts.on('key', gone, 'restore');
    (gone ?? known).isDeleted = gone === undefined;
    return did;
  },
};

const OFTEN = 9;
const LANES = ['open', 'waiting_internal', 'waiting_external', 'resolved'];

function read(acts: ConsoleActs, known: Known, action: string, by: Caller) {
  const { messages } = known;
  if (messages.length === 0) return undefined;
  return acts.on(by, known, action, { sequence: acts.random.pick(messages).sequence });
}
