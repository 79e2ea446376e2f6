import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { LiveConversation } from '../conversation/live-conversation.ts';
import type { SentMessage, Timeline } from '../conversation/view/timeline.ts';
import { lost } from '../errors/parley-error.ts';
import type { InboxQuery, InboxSnapshot } from '../inbox/inbox-snapshot.ts';
import type { KeptPages, OpenInbox } from '../live/follow-host.ts';
import type { OutboxHost } from '../outbox/outbox.ts';
import { conversationPath } from '../rest/paths.ts';
import type { PageStore } from './page-store.ts';

/** What is kept of an open page: the end of what was read. */
interface Shown {
  /** Shows nothing that was kept any more. */
  withdraw(): void;
  /** Returns the page to be kept; undefined before it was read. */
  page(): readonly object[] | undefined;
}

/**
 * Keeps the last page of each inbox and each conversation that a client opens, and shows it at the
 * next visit until the server has answered. A kept page is never trusted. With each connection the
 * texts of all pages are removed: open ones are written again as they are now, and conversations
 * that are not open are read again one after another.
 */
export class PageKeeper implements KeptPages {
  readonly #host: OutboxHost;
  readonly #failed: (error: unknown) => void;
  /** Undefined once it must not be used. */
  #pages: PageStore | undefined;
  readonly #shown = new Map<string, Set<Shown>>();
  /** Pages that are written in a moment, with the end of their wait. */
  readonly #due = new Map<string, () => void>();
  /** Ends the work after a connection. */
  #stopReading: () => void = () => {};

  constructor(host: OutboxHost, pages: PageStore, failed: (error: unknown) => void) {
    this.#host = host;
    this.#pages = pages;
    this.#failed = failed;
    host.closing.addEventListener('abort', () => this.#stop());
    void this.#tried((store) => store.removeOthers());
    this.#stopReading = host.timing.after(PATIENCE_MS, () => void this.ended());
  }

  inbox(query: InboxQuery, set: OpenInbox['set']): OpenInbox {
    const { pageSize = 25 } = query;
    const name = `inbox ${JSON.stringify(Object.entries(query).sort())}`;
    let rows: InboxSnapshot['conversations'] | undefined;
    const shown: Shown = {
      withdraw: () => rows === undefined && set({ conversations: [] }),
      page: () => rows?.slice(0, pageSize),
    };
    void this.#open(name, shown, (items) => {
      if (rows === undefined) set({ conversations: items as InboxSnapshot['conversations'] });
    });
    return {
      set: (values) => {
        if (values.conversations !== undefined) {
          rows = values.conversations;
          this.#changed(name);
        }
        if (isOfSession(values.error)) this.forget();
        set(values);
      },
      close: () => this.#closed(name, shown),
    };
  }

  conversation(live: LiveConversation, timeline: Pick<Timeline, 'kept' | 'touch'>): () => void {
    const name = live.id;
    const isReady = () => live.snapshot.status === 'ready';
    const shown: Shown = {
      withdraw: () => {
        timeline.kept = undefined;
        timeline.touch();
      },
      page: () => (isReady() ? pageOf(live) : undefined),
    };
    void this.#open(name, shown, (items) => {
      if (live.snapshot.status !== 'loading') return;
      const kept = items.map((item) => sentMessage(item as ChatMessage));
      // Another tab may have kept what arrives here too, or what is not known here to be sent.
      timeline.kept = (sent, echoes) => {
        const first = sent[0]?.sequence ?? Infinity;
        const isOnlyKept = ({ sequence, key }: SentMessage) =>
          sequence! < first && !echoes.some((echo) => echo.key === key);
        return [...kept.filter(isOnlyKept), ...sent];
      };
      timeline.touch();
    });
    live.on('change', ({ what }) => {
      if ((what === 'messages' || what === 'status') && isReady()) this.#changed(name);
    });
    live.on('end', () => {
      void this.#tried((pages) => pages.remove(name));
      void this.ended();
    });
    return () => this.#closed(name, shown);
  }

  /** Called with each connection of the owner. */
  attached(): void {
    this.#stopReading();
    let isOver = false;
    let cancel = () => {};
    const pause = (ms: number) =>
      new Promise<void>((resolve) => {
        cancel = this.#host.timing.after(ms, resolve);
      });
    this.#stopReading = () => {
      isOver = true;
      cancel();
    };
    void (async () => {
      // What is opened in the first moments is shown before the answer of a slow server.
      await pause(SETTLE_MS);
      let names: readonly string[] = [];
      await this.#tried(async (pages) => {
        names = await pages.strip();
      });
      for (const name of this.#shown.keys()) this.#changed(name);
      for (const name of names) {
        if (this.#shown.has(name)) continue;
        if (!isOver) await pause(AGAIN_MS);
        if (isOver) return;
        await this.#read(name);
      }
    })();
  }

  /** Called where the server has refused something: has the session ended? */
  async ended(): Promise<void> {
    if (this.#pages === undefined) return;
    await this.#host.rest.fetch('/v1/me').catch((error: unknown) => {
      if (isOfSession(lost(error))) this.forget();
    });
  }

  /** Removes what is kept and shown of the person, and keeps nothing more. */
  forget(): void {
    const pages = this.#pages;
    this.#stop();
    for (const all of this.#shown.values()) for (const shown of all) shown.withdraw();
    this.#shown.clear();
    pages?.clear().catch(this.#failed);
  }

  /** Removes all pages, because messages need their space. Resolves even if that fails. */
  makeRoom(): Promise<void> {
    return this.#tried((pages) => pages.clear());
  }

  #stop(): void {
    this.#pages = undefined;
    this.#stopReading();
    for (const cancel of this.#due.values()) cancel();
    this.#due.clear();
  }

  async #open(name: string, shown: Shown, show: (items: readonly object[]) => void): Promise<void> {
    this.#shown.set(name, (this.#shown.get(name) ?? new Set()).add(shown));
    await this.#tried(async (pages) => {
      const items = await pages.open(name);
      if (items === undefined || pages !== this.#pages) return;
      this.#host.answered(items);
      show(items);
    });
  }

  /** Writes the page in a moment, with what changes until then. */
  #changed(name: string): void {
    if (this.#pages === undefined || this.#due.has(name)) return;
    this.#due.set(
      name,
      this.#host.timing.after(GATHER_MS, () => this.#writeShown(name)),
    );
  }

  #writeShown(name: string): void {
    this.#due.get(name)?.();
    this.#due.delete(name);
    for (const shown of this.#shown.get(name) ?? []) {
      const items = shown.page();
      if (items !== undefined) return void this.#write(name, items);
    }
  }

  #closed(name: string, shown: Shown): void {
    if (this.#due.has(name)) this.#writeShown(name);
    const all = this.#shown.get(name);
    all?.delete(shown);
    if (all?.size === 0) this.#shown.delete(name);
  }

  /** Reads the newest messages of a conversation that is not open. */
  async #read(conversationId: string): Promise<void> {
    if (conversationId.startsWith('inbox ')) return;
    const { rest } = this.#host;
    const path = conversationPath(conversationId, `/messages?limit=${PAGE_SIZE}&${rest.including(SHOWN)}`);
    try {
      const { data } = await rest.fetch<List<ChatMessage>>(path, { mostTries: 1 });
      if (!this.#shown.has(conversationId)) await this.#write(conversationId, [...data].reverse());
    } catch (cause) {
      const error = lost(cause);
      if (isOfSession(error)) this.forget();
      else if (!error.isTransient) await this.#tried((pages) => pages.remove(conversationId));
    }
  }

  #write(name: string, items: readonly object[]): Promise<void> {
    return this.#tried((pages) => pages.write(name, items, () => pages === this.#pages));
  }

  async #tried(work: (pages: PageStore) => Promise<void>): Promise<void> {
    try {
      if (this.#pages !== undefined) await work(this.#pages);
    } catch (error) {
      this.#failed(error);
    }
  }
}

/** Returns the newest messages that the server has, without what waits for it. */
function pageOf(live: LiveConversation): readonly object[] {
  const sent = live.messages.filter(({ delivery }) => delivery === 'sent') as readonly SentMessage[];
  return sent.slice(-PAGE_SIZE).map(({ pending: _, ...message }) => message);
}

function sentMessage(message: ChatMessage): SentMessage {
  return { key: message.id, ...message, delivery: 'sent' };
}

/** Returns whether the server no longer knows the session. */
function isOfSession(error: { readonly status: number | null } | null | undefined): boolean {
  return error?.status === 401;
}

const PAGE_SIZE = 30;
/** The sub-objects that pages draw. */
const SHOWN = ['sender', 'attachments', 'reactions', 'reply_to', 'thread'] as const;
const GATHER_MS = 1_000;
const SETTLE_MS = 3_000;
/** All clients of a server that restarts come back at once. */
const AGAIN_MS = 3_000;
/** A client that is not connected by then may have no session. */
const PATIENCE_MS = 10_000;
